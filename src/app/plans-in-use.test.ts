import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AccountRecord } from '../accounts/accounts.ts'
import { planBook } from '../accounts/plans.ts'
import { checkPlansInUse } from './plans-in-use.ts'

const account = (number: number, plan: string): AccountRecord => ({
  ...{ id: `acc_${number}`, email: `${number}@example.com`, plan },
  ...{ billingDay: 1, pausedReason: null, createdAtMs: 0 },
})

test('a plan that accounts have must be there: the sentence names it and the first of them', () => {
  const plans = planBook({ plans: [{ name: 'team', extends: 'business' }] })
  checkPlansInUse([account(1, 'free'), account(2, 'team')], plans)
  assert.throws(() => checkPlansInUse([account(1, 'free'), account(2, 'gone')], plans), {
    name: 'ConfigError',
    message:
      'No plan is called "gone" (TAPELINE_PLANS), but an account has it: acc_2 (2@example.com). Put it back into the plans file, or choose another plan with tapeline accounts set-plan.',
  })
  const many = [1, 2, 3, 4, 5].map((number) => account(number, 'gone'))
  assert.throws(
    () => checkPlansInUse([...many, account(6, 'other')], plans),
    /5 accounts have it: acc_1 .*, acc_2 .*, acc_3 \(3@example.com\) and 2 more\./,
  )
})
