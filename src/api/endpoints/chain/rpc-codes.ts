/** JSON-RPC 2.0 error codes, and what they mean here. */
export const RPC_ERRORS = {
  parse_error: { code: -32700, means: 'The body is not JSON.' },
  invalid_request: {
    code: -32600,
    means: 'Not a JSON-RPC 2.0 request with an id, or a batch of a wrong size.',
  },
  method_not_found: { code: -32601, means: 'There is no such method.' },
  invalid_params: { code: -32602, means: 'The params are wrong; every fault is named in `data.faults`.' },
  blocked: { code: -32010, means: 'The method is not served to callers; nothing was forwarded.' },
  refused: { code: -32000, means: 'The node refused; its text is the message, `data.reason` is stable.' },
  unavailable: {
    code: -32020,
    means:
      'No node could answer. Status 503 when that holds for every call. Or the answers of a batch are too large together: `data.reason` is `batch_too_large`.',
  },
} as const

export type RpcErrorKind = keyof typeof RPC_ERRORS

/** Maximum number of calls in a batch; a plan with a lower rate allows fewer. */
export const MAX_BATCH = 50
/** All answers of a batch together, because they are held until the last one has arrived. */
export const MAX_BATCH_ANSWERS_BYTES = 128 * 1024 * 1024
