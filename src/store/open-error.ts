/** What is stored cannot be opened, in one sentence for the operator. */
export class StoreOpenError extends Error {
  override readonly name: string = 'StoreOpenError'
}
