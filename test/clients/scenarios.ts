import { readFileSync } from 'node:fs'

type Params = Readonly<Record<string, string | number | boolean>>

interface Scenario {
  readonly name: string
  readonly operation: string
  readonly params: Params
}

/** What both clients run; names of operations as Python has them. */
export interface Scenarios {
  readonly lists: readonly Scenario[]
  readonly objects: readonly Scenario[]
  readonly errors: readonly (Scenario & { readonly status: number; readonly code: string })[]
  readonly budget: Omit<Scenario, 'name'> & {
    readonly max_credits: number
    readonly pages: number
    readonly credits: number
  }
  readonly webhook: { readonly url: string; readonly kinds: readonly string[] }
  readonly stream: { readonly kinds: readonly string[]; readonly last_kind: string }
}

export const SCENARIOS = JSON.parse(
  readFileSync(new URL('../../clients/scenarios.json', import.meta.url), 'utf8'),
) as Scenarios

/** What a run of all scenarios but the stream found, in the order of the list. */
export interface Found {
  /** Of all answers that arrived. */
  readonly request_ids: readonly string[]
  readonly lists: readonly {
    readonly rows: readonly unknown[]
    readonly credits: number
    /** What `cost` said before each page. */
    readonly predicted: number
    /** Of a second walk. */
    readonly unchanged: { readonly rows: number; readonly credits: number }
  }[]
  readonly objects: readonly {
    readonly value: unknown
    readonly credits: number
    readonly predicted: number
  }[]
  readonly errors: readonly { readonly status: number; readonly code: string; readonly class_name: string }[]
  readonly budget: { readonly rows: number; readonly credits: number; readonly next_page_credits: number }
  /** A create whose answer was lost is charged then; its replay shows 0. */
  readonly webhook: { readonly id: string; readonly credits: number }
}
