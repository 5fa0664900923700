/** A refusal. The wire carries only the text, because its code is always 0. */
export class RpcError extends Error {}

/**
 * An input that crashes the real node (a panic in its deserialiser). The simulator behaves like that node: its process
 * ends.
 */
export class NodePanic extends Error {}
