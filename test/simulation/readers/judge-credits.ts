/** Law 9, checked in the tables: charges equal what was delivered, and no budget pays more than it has. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Receipt } from './callers.ts'

interface LedgerRow {
  readonly id: string
  readonly at: number
  readonly account_id: string
  readonly key_id: string
  readonly credits: number
  readonly charges: string
}

interface BudgetRow {
  readonly id: string
  readonly period_start: number
  readonly used: number
  readonly credit_limit: number
}

interface ChargeRow {
  readonly id: string
  readonly credits: number
}

export interface GivenDelivery {
  readonly id: string
  /** When the service learned that it was delivered. */
  readonly atMs: number
  readonly isAccepted: boolean
  readonly isDelivered: boolean
}

/** The first of the keys that were rotated into this one: all of them share its cap. */
type FirstKeyOf = (keyId: string) => string

export interface CreditFacts {
  readonly receipts: readonly Receipt[]
  readonly deliveries: readonly GivenDelivery[]
  readonly firstKeyOf: FirstKeyOf
  /** How many events receivers of deleted webhooks accepted: their deliveries are no longer stored. */
  readonly acceptedByDeleted: number
  /** Whether a charge of that instant may be lost because a process died before writing it. */
  mayBeLost(atMs: number): boolean
}

const open = (folder: string) =>
  new DatabaseSync(join(folder, 'accounts.db'), { readOnly: true, timeout: 5_000 })

/**
 * Holds at any time.
 *
 * @param mayBeOwed whether a charge is for something carried out while the store failed: it is written whatever is left
 * by then, even if another process has already spent it
 * @param mostOf the most that a budget may have paid if its limit was changed
 */
export function overdrawn(
  folder: string,
  mayBeOwed: (chargeId: string) => boolean = () => false,
  mostOf: (budgetId: string) => number | undefined = () => undefined,
  firstKeyOf: FirstKeyOf = (keyId) => keyId,
): string[] {
  const database = open(folder)
  try {
    const budgets = budgetsOf(database)
    const exceeded = budgets.filter(
      ({ id, used, credit_limit }) => used > Math.max(credit_limit, mostOf(id) ?? 0),
    )
    if (exceeded.length === 0) return []
    const ledger = database.prepare('SELECT * FROM ledger').all() as unknown as LedgerRow[]
    return exceeded
      .filter((budget) => {
        const { used, credit_limit } = budget
        const owed = entriesOf(budget, budgets, ledger, firstKeyOf)
          .flatMap(chargesOf)
          .filter((charge) => mayBeOwed(charge.id))
        return used - credit_limit > owed.reduce((sum, { credits }) => sum + credits, 0)
      })
      .map(({ id, used, credit_limit }) => `9 the budget ${id} paid ${used} of ${credit_limit} credits`)
  } finally {
    database.close()
  }
}

const budgetsOf = (database: DatabaseSync) =>
  database.prepare('SELECT id, period_start, used, credit_limit FROM budgets').all() as unknown as BudgetRow[]

/** The ledger entries that a budget pays for: those of its period, which ends where its next one begins. */
function entriesOf(
  { id, period_start }: BudgetRow,
  budgets: readonly BudgetRow[],
  ledger: readonly LedgerRow[],
  firstKeyOf: FirstKeyOf,
): LedgerRow[] {
  const later = budgets.filter((each) => each.id === id && each.period_start > period_start)
  const nextMs = Math.min(...later.map((each) => each.period_start))
  return ledger.filter(
    ({ at, key_id, account_id }) =>
      (id === firstKeyOf(key_id) || id === `${account_id}/test`) && at >= period_start && at < nextMs,
  )
}

/** Called once everything has been written. */
export function judgeCredits(folder: string, facts: CreditFacts): string[] {
  const database = open(folder)
  try {
    const ledger = database.prepare('SELECT * FROM ledger').all() as unknown as LedgerRow[]
    return [...judgeLedger(ledger, facts), ...judgeSums(database, ledger, facts.firstKeyOf)]
  } finally {
    database.close()
  }
}

function judgeLedger(
  ledger: readonly LedgerRow[],
  { receipts, deliveries, acceptedByDeleted, mayBeLost }: CreditFacts,
): string[] {
  const wrong: string[] = []
  const charges = ledger.flatMap(chargesOf)
  const paid = new Set(charges.map(({ id }) => id))
  for (const [id, all] of Map.groupBy(charges, (charge) => charge.id))
    if (all.length > 1) wrong.push(`9 ${id} was charged ${all.length} times`)
  for (const row of ledger) {
    const sum = chargesOf(row).reduce((credits, charge) => credits + charge.credits, 0)
    if (sum !== row.credits)
      wrong.push(`9 the entry ${row.id} has ${row.credits} credits, its charges ${sum}`)
  }
  const receiptOf = new Map(receipts.map((receipt) => [receipt.id, receipt]))
  const deliveryOf = new Map(deliveries.map((delivery) => [delivery.id, delivery]))
  let ofDeleted = 0
  for (const { id, credits } of charges) {
    const receipt = receiptOf.get(id)
    const delivery = deliveryOf.get(id)
    if (receipt !== undefined) {
      // It was charged, but the process died before it could answer, or the answer is still on its way. Law 10 finds
      // answers that never arrive.
      if (receipt.answeredMs === undefined) continue
      if (receipt.charged !== credits)
        wrong.push(
          `9 ${receipt.route} (${id}, status ${receipt.status}) said ${receipt.charged} credits and was charged ${credits}`,
        )
    } else if (delivery !== undefined) {
      if (credits !== 1) wrong.push(`9 the delivery ${id} was charged ${credits} credits`)
      if (!delivery.isAccepted)
        wrong.push(`9 the delivery ${id} was charged, and its receiver has never accepted it`)
    } else if (id.startsWith('dlv_') && credits === 1 && ofDeleted < acceptedByDeleted) ofDeleted++
    else wrong.push(`9 ${id} was charged ${credits} credits, and is neither a request nor a delivery`)
  }
  for (const { id, charged, answeredMs = 0, route } of receipts)
    if (charged > 0 && !paid.has(id) && !mayBeLost(answeredMs))
      wrong.push(`9 ${route} (${id}) said ${charged} credits, and nothing was charged`)
  for (const { id, atMs, isDelivered } of deliveries)
    if (isDelivered && !paid.has(id) && !mayBeLost(atMs)) wrong.push(`9 the delivery ${id} was not charged`)
  return wrong
}

/** Each line of an entry is a charge with its id and its credits. */
function chargesOf({ charges }: LedgerRow): ChargeRow[] {
  return charges.split('\n').map((line) => {
    const [id = '', credits] = line.split(' ')
    return { id, credits: Number(credits) }
  })
}

function judgeSums(database: DatabaseSync, ledger: readonly LedgerRow[], firstKeyOf: FirstKeyOf): string[] {
  const wrong: string[] = []
  const budgets = budgetsOf(database)
  for (const budget of budgets) {
    const { id, used } = budget
    const charged = entriesOf(budget, budgets, ledger, firstKeyOf).reduce(
      (sum, { credits }) => sum + credits,
      0,
    )
    if (charged !== used) wrong.push(`9 the budget ${id} counts ${used} credits, its charges are ${charged}`)
  }
  const sumOf = (sql: string) => Number(database.prepare(sql).get()?.sum ?? 0)
  const usage = sumOf('SELECT SUM(credits) AS sum FROM usage')
  const charged = sumOf('SELECT SUM(credits) AS sum FROM ledger')
  if (usage !== charged) wrong.push(`9 usage counts ${usage} credits, the ledger ${charged}`)
  return wrong
}
