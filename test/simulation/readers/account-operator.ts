/**
 * The operator of the callers' accounts: revokes and rotates keys, pauses accounts, changes plans and sets credits to
 * exactly what some requests cost, while requests are in progress.
 */
import type { Accounts } from '../../../src/accounts/accounts.ts'
import type { Random } from '../random.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { Caller } from './callers.ts'
import type { Spending } from './spending.ts'
import { PLANS } from './world.ts'

const ACTIONS = ['revoke', 'rotate', 'pause', 'plan', 'credits', 'credits'] as const
/** The longest pause of an account. */
const MAX_PAUSE_MS = 180_000

export function startAccountOperator(parts: {
  time: VirtualTime
  random: Random
  accounts: Accounts
  callers: readonly Caller[]
  /** The time between two changes; 0 if nothing is changed. */
  gapMs: number
  untilMs: number
}) {
  const { time, random, accounts, callers } = parts
  /** The original keys, by the keys that they were rotated into. */
  const firstKeys = new Map<string, string>()
  let last: Promise<unknown> = Promise.resolve()
  let isStopped = false
  const sleep = (ms: number) => new Promise<void>((resolve) => void time.after(ms, resolve))

  async function act(): Promise<void> {
    const caller = random.pick(callers)
    const { account, key } = caller
    const [ofAccount] = key.budgets as readonly [Spending]
    switch (random.pick(ACTIONS)) {
      case 'revoke': {
        key.isEnding = true
        await accounts.revokeKey(key.id)
        key.revokedMs = time.nowMs
        key.isEnding = false
        // Its owner keeps using it for a while.
        await sleep(random.int(0, 30_000))
        const { key: text, record } = await accounts.createKey({
          ...{ accountId: account.id, environment: 'test', name: 'another' },
        })
        caller.key = { text, id: record.id, account, budgets: [ofAccount] }
        return
      }
      case 'rotate': {
        const overlapMs = random.pick([0, 20_000, 120_000])
        key.isEnding = true
        const rotated = await accounts.rotateKey(key.id, overlapMs)
        key.expiresMs = rotated.oldExpiresAtMs
        key.isEnding = false
        firstKeys.set(rotated.record.id, firstKeys.get(key.id) ?? key.id)
        await sleep(random.int(0, overlapMs + 10_000))
        // The new key continues with the same cap.
        caller.key = { text: rotated.key, id: rotated.record.id, account, budgets: key.budgets }
        return
      }
      case 'pause':
        account.isPausing = true
        await accounts.pause(account.id, 'operator')
        account.pausedMs = time.nowMs
        account.isPausing = false
        await sleep(random.int(0, MAX_PAUSE_MS))
        account.resumingMs = time.nowMs
        await accounts.resume(account.id)
        account.pausedMs = undefined
        account.resumedMs = time.nowMs
        return
      case 'plan': {
        const plan = random.pick(['reader', 'poor'])
        await accounts.setPlan(account.id, plan)
        ofAccount.limitTo(PLANS.get(plan).creditsPerMonth)
        return
      }
      case 'credits': {
        // An order costs 7 credits, and so does an answer with one row.
        const credits = random.pick([0, 7, 7 * random.int(2, 30), random.int(1, 2_000), 50_000])
        await accounts.setCredits(account.id, credits, ['test'])
        ofAccount.grant(credits)
      }
    }
  }

  const next = () => {
    time.after(Math.ceil(-Math.log(1 - random()) * parts.gapMs), () => {
      if (isStopped || time.nowMs > parts.untilMs) return
      last = last.then(() => (isStopped ? undefined : act()))
      next()
    })
  }
  if (parts.gapMs > 0) next()
  return {
    firstKeyOf: (keyId: string) => firstKeys.get(keyId) ?? keyId,
    stop() {
      isStopped = true
      return last
    },
  }
}
