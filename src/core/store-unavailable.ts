/** The store cannot be reached or does not accept the call now; later it may. In one sentence for the operator. */
export class StoreUnavailableError extends Error {
  override readonly name = 'StoreUnavailableError'
}
