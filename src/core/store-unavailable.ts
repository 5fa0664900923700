/**
 * The store cannot be reached or cannot accept the call now, but may later. The message is one sentence for the
 * operator.
 */
export class StoreUnavailableError extends Error {
  override readonly name: string = 'StoreUnavailableError'
  /** The write may have taken effect: the connection was lost before the store confirmed it. */
  readonly mayBeDone: boolean

  constructor(message: string, options: ErrorOptions & { mayBeDone?: boolean } = {}) {
    super(message, options)
    this.mayBeDone = options.mayBeDone ?? false
  }
}

/** The store answers reads but refuses writes, because its disk is full or an administrator made it read-only. */
export class WritesRefusedError extends StoreUnavailableError {
  override readonly name = 'WritesRefusedError'
}
