/** Why a row was refused. A refused row never enters the store. */
export class RowError extends Error {
  override readonly name = 'RowError'
  readonly field: string
  readonly reason: string

  constructor(field: string, reason: string) {
    super(`${field}: ${reason}`)
    this.field = field
    this.reason = reason
  }
}
