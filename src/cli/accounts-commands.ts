import type { Balance } from '../accounts/accounts.ts'
import { ENVIRONMENTS, type Environment } from '../core/environment.ts'
import { formatTime } from '../core/time.ts'
import { type AccountRecord, PAUSE_REASONS, type PauseReason } from '../store/accounts.ts'
import { type CliCommand, type CommandContext, needed, UsageError } from './command.ts'
import { parseEnvironmentOption } from './options.ts'

const account = { about: 'Id of the account.', required: true }

export const ACCOUNT_COMMANDS: readonly CliCommand[] = [
  {
    name: 'accounts create',
    about: 'Creates an account.',
    options: {
      email: { about: 'E-mail address of its holder.', required: true },
      plan: { about: 'Plan: free, developer, business or one of the plans file.', fallback: 'free' },
      'billing-day': { about: 'Day of the month on which credits are renewed; left out: today.' },
    },
    async run({ values, accounts, output }) {
      const day = values['billing-day']
      if (day !== undefined && !/^([1-9]|[12]\d|3[01])$/.test(day)) {
        throw new UsageError('--billing-day must be a day from 1 to 31.')
      }
      const created = await accounts.create({
        email: needed(values, 'email'),
        plan: values.plan ?? 'free',
        ...(day === undefined ? {} : { billingDay: Number(day) }),
      })
      output.print(shown(created))
    },
  },
  {
    name: 'accounts list',
    about: 'Lists all accounts with their credits.',
    options: {},
    async run({ accounts, output }) {
      const rows = await Promise.all(
        (await accounts.list()).map(async (record) => {
          const [test, live] = await Promise.all(ENVIRONMENTS.map((env) => accounts.balance(record, env)))
          return { ...shown(record), test_remaining: test?.remaining, live_remaining: live?.remaining }
        }),
      )
      output.print(rows, ['id', 'email', 'plan', 'state', 'test_remaining', 'live_remaining', 'created_at'])
    },
  },
  {
    name: 'accounts set-plan',
    about: 'Changes the plan of an account, from this moment on.',
    options: { account, plan: { about: 'Name of the new plan.', required: true } },
    async run({ values, accounts, output }) {
      output.print(shown(await accounts.setPlan(needed(values, 'account'), needed(values, 'plan'))))
    },
  },
  {
    name: 'accounts pause',
    about: 'Pauses all keys of an account.',
    options: {
      account,
      // An incoming payment ends a pause for payment, but not one by the operator.
      reason: { about: `Why: ${PAUSE_REASONS.join(' or ')}.`, fallback: 'operator' },
    },
    async run({ values, accounts, output }) {
      const reason = PAUSE_REASONS.find((known) => known === values.reason) as PauseReason | undefined
      if (reason === undefined) throw new UsageError(`--reason must be ${PAUSE_REASONS.join(' or ')}.`)
      output.print(shown(await accounts.pause(needed(values, 'account'), reason)))
    },
  },
  {
    name: 'accounts resume',
    about: 'Lets the keys of a paused account work again.',
    options: { account },
    async run({ values, accounts, output }) {
      output.print(shown(await accounts.resume(needed(values, 'account'))))
    },
  },
  {
    name: 'accounts credits',
    about: 'Shows or sets the remaining credits of this period.',
    options: {
      account,
      set: { about: 'New number of remaining credits.' },
      environment: { about: 'test or live; left out: both.' },
    },
    run: credits,
  },
]

async function credits({ values, accounts, output }: CommandContext): Promise<void> {
  const record = await accounts.get(needed(values, 'account'))
  const chosen = parseEnvironmentOption(values)
  const environments = chosen === undefined ? ENVIRONMENTS : [chosen]
  if (values.set !== undefined) {
    if (!/^\d{1,15}$/.test(values.set)) throw new UsageError('--set must be a whole number of 0 or more.')
    await accounts.setCredits(record.id, Number(values.set), environments)
  }
  const balances = await Promise.all(environments.map((env) => accounts.balance(record, env)))
  output.print({
    id: record.id,
    ...Object.fromEntries(environments.flatMap((env, i) => balanceFields(env, balances[i]))),
  })
}

function balanceFields(environment: Environment, balance: Balance | undefined): [string, unknown][] {
  if (balance === undefined) return []
  return [
    [`${environment}_used`, balance.used],
    [`${environment}_limit`, balance.limit],
    [`${environment}_remaining`, balance.remaining],
    ['resets_at', formatTime(balance.resetsAtMs)],
  ]
}

function shown(record: AccountRecord) {
  return {
    id: record.id,
    email: record.email,
    plan: record.plan,
    state: record.pausedReason === null ? 'active' : 'paused',
    paused_reason: record.pausedReason,
    billing_day: record.billingDay,
    created_at: formatTime(record.createdAtMs),
  }
}
