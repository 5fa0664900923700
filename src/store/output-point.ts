/** An output, identified by the transaction that creates it and its index there. */
export interface OutputPoint {
  readonly txId: string
  readonly index: number
}
