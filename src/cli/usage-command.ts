import { DAY_MS } from '../core/time.ts'
import { type CliCommand, needed } from './command.ts'
import { parseTimeOption } from './options.ts'

const DEFAULT_DAYS = 31

export const USAGE_COMMAND: CliCommand = {
  name: 'usage',
  about: 'Shows what an account used, by day, endpoint and key.',
  options: {
    account: { about: 'Id of the account.', required: true },
    from: { about: 'First day; left out: 31 days ago.' },
    to: { about: 'Last day; left out: today.' },
  },
  async run({ values, accounts, output, clock }) {
    const { id } = await accounts.get(needed(values, 'account'))
    const nowMs = clock.now()
    const fromMs = parseTimeOption(values, 'from') ?? nowMs - DEFAULT_DAYS * DAY_MS
    const toMs = parseTimeOption(values, 'to') ?? nowMs
    const rows = (await accounts.usage(id, fromMs, toMs)).map((row) => ({
      day: row.day,
      environment: row.environment,
      endpoint: row.endpoint,
      key: row.keyId,
      requests: row.requests,
      credits: row.credits,
      rows: row.rows,
      failed: row.failed,
      rate_limited: row.rateLimited,
    }))
    output.print(rows)
  },
}
