import type { EndpointReply, ToolEndpoint } from './endpoint-call.ts'
import { ToolFailure } from './tool.ts'

/** The credits that one tool call may spend and has spent. A request whose price could exceed the rest is not made. */
export class Spending {
  readonly max: number
  charged = 0
  remaining: number | null = null
  plan: string | null = null
  readonly #rules = new Set<string>()

  constructor(max: number) {
    this.max = max
  }

  /** How many rows the rest pays for; throws if it does not pay for a useful answer. */
  affordableRows(endpoint: ToolEndpoint, input: Readonly<Record<string, unknown>>): number {
    const { cost } = endpoint
    const rest = this.max - this.charged
    const units = Object.keys(cost.prices).filter((unit) => unit !== 'row')
    // Units other than rows (a look into the mempool) are known only afterwards, so each is expected once.
    const possible = Object.fromEntries(units.map((unit) => [unit, 1]))
    const extra = cost.charge(possible, input) - cost.charge({}, input)
    const least = cost.least(input) + extra
    this.ensure(endpoint, least)
    return cost.affordableRows(rest - extra, input)
  }

  /** Throws if the rest does not pay for a call of this price. */
  ensure({ cost }: ToolEndpoint, credits: number): void {
    if (credits <= this.max - this.charged) return
    const spent = this.charged === 0 ? '' : ` after ${this.charged} were used`
    throw new ToolFailure(
      `This can cost ${credits} credits (${cost.describe()}), but max_credits is ${this.max}${spent}. Nothing more was charged.`,
      `Set max_credits to ${credits + this.charged} or more, or ask for less.`,
      { error: 'max_credits', needed: credits + this.charged },
    )
  }

  note(endpoint: ToolEndpoint, header: EndpointReply['header']): void {
    this.charged += Number(header('x-credits-charged') ?? 0)
    const remaining = header('x-credits-remaining')
    if (remaining !== undefined) this.remaining = Number(remaining)
    this.plan = header('x-plan') ?? this.plan
    this.#rules.add(`${endpoint.path}: ${endpoint.cost.describe()}`)
  }

  /** The part of every answer that states what it cost. */
  get price() {
    return {
      credits_charged: this.charged,
      credits_remaining: this.remaining,
      max_credits: this.max,
      plan: this.plan,
      rule: [...this.#rules].join('; '),
    }
  }
}
