/** A refusal: the text is all that the wire carries (its code is always 0). */
export class RpcError extends Error {}

/**
 * An input on which the real node's process ends (a panic in its deserialiser). The simulator answers as that
 * node does: its process is gone.
 */
export class NodePanic extends Error {}
