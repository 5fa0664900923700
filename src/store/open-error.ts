/** The store cannot be opened; the message tells the operator why in one sentence. */
export class StoreOpenError extends Error {
  override readonly name: string = 'StoreOpenError'
}
