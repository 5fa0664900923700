/** A closed row with its columns, as it is packed into a block and unpacked again. */
export interface BlockRow {
  ts: number
  instrument: string
  seq: number
  text: string
  side: string | null
  usd: number | null
  revision: number
  recordedAt: number
}
