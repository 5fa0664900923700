/** One step of a schema: released steps are never edited, a change is a new step with the next number. */
export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
}
