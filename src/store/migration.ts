/** One step of a schema. Released steps are never edited; every change is a new step with the next number. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}
