/** An output by the transaction that creates it and its place there. */
export interface OutputPoint {
  readonly txId: string
  readonly index: number
}
