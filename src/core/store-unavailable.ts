/** The store cannot be reached or does not accept the call now; later it may. In one sentence for the operator. */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError'
  /** A write may have been done: the store was lost before it said so. */
  readonly mayBeDone: boolean

  constructor(message: string, options: ErrorOptions & { mayBeDone?: boolean } = {}) {
    super(message, options)
    this.mayBeDone = options.mayBeDone ?? false
  }
}

/** It answers reads and refuses writes: a full disk, or an administrator has made it read-only. */
export class WritesRefusedError extends StoreUnavailableError {
  override readonly name = 'WritesRefusedError'
}
