import { SCOPES } from '../core/scope.ts'
import { formatTime } from '../core/time.ts'
import type { KeyRecord } from '../store/accounts.ts'
import { type CliCommand, type CommandContext, needed, UsageError } from './command.ts'
import { parseEnvironmentOption, parseListOption, parseTimeOption } from './options.ts'

const HOUR_MS = 3_600_000

export const KEY_COMMANDS: readonly CliCommand[] = [
  {
    name: 'keys create',
    about: 'Creates an API key. It is shown once.',
    options: {
      account: { about: 'Id of the account.', required: true },
      environment: { about: 'test or live.', required: true },
      name: { about: 'Name that distinguishes it from others.', required: true },
      scopes: { about: `Comma-separated: ${SCOPES.join(', ')}; left out: all.` },
      expires: { about: 'Time of expiry, such as 2027-01-01; left out: never.' },
      'allow-from': { about: 'Comma-separated address ranges; left out: from anywhere.' },
      'credit-cap': { about: 'Most credits per month; left out: the account alone limits it.' },
    },
    async run({ values, accounts, output }) {
      const environment = parseEnvironmentOption(values)
      if (environment === undefined) throw new UsageError('--environment is missing.')
      const cap = values['credit-cap']
      if (cap !== undefined && !/^\d{1,15}$/.test(cap)) {
        throw new UsageError('--credit-cap must be a whole number.')
      }
      const { key, record } = await accounts.createKey({
        accountId: needed(values, 'account'),
        environment,
        name: needed(values, 'name'),
        scopes: parseListOption(values, 'scopes') ?? null,
        allowedCidrs: parseListOption(values, 'allow-from') ?? null,
        creditCap: cap === undefined ? null : Number(cap),
        expiresAtMs: parseTimeOption(values, 'expires') ?? null,
      })
      output.print({ key, ...shown(record) })
    },
  },
  {
    name: 'keys list',
    about: 'Lists keys; their text is not known any more.',
    options: { account: { about: 'Id of the account; left out: all accounts.' } },
    async run({ values, accounts, output, clock }) {
      const keys = await accounts.listKeys(values.account)
      const paused = new Set(
        (await accounts.list()).filter((owner) => owner.pausedReason !== null).map((owner) => owner.id),
      )
      const rows = keys.map((key) => ({ ...shown(key), state: stateOf(key, paused, clock.now()) }))
      output.print(rows, [
        'id',
        'account',
        'environment',
        'name',
        'hint',
        'state',
        'created_at',
        'last_used_at',
        'expires_at',
      ])
    },
  },
  {
    name: 'keys revoke',
    about: 'Ends a key for good.',
    options: { key: { about: 'Id of the key.', required: true } },
    async run({ values, accounts, output }) {
      output.print(shown(await accounts.revokeKey(needed(values, 'key'))))
    },
  },
  {
    name: 'keys rotate',
    about: 'Creates a successor; the old key works on for the overlap.',
    options: {
      key: { about: 'Id of the key.', required: true },
      'overlap-hours': { about: 'Hours that both keys work.', fallback: '24' },
    },
    run: rotate,
  },
]

async function rotate({ values, accounts, output }: CommandContext): Promise<void> {
  const hours = Number(values['overlap-hours'])
  if (!(hours >= 0 && hours <= 8_760))
    throw new UsageError('--overlap-hours must be a number from 0 to 8760.')
  const rotated = await accounts.rotateKey(needed(values, 'key'), hours * HOUR_MS)
  output.print({
    key: rotated.key,
    ...shown(rotated.record),
    old_expires_at: formatTime(rotated.oldExpiresAtMs),
  })
}

function stateOf(key: KeyRecord, pausedAccounts: ReadonlySet<string>, nowMs: number): string {
  if (key.revokedAtMs !== null) return 'revoked'
  if (key.expiresAtMs !== null && key.expiresAtMs <= nowMs) return 'expired'
  return pausedAccounts.has(key.accountId) ? 'paused' : 'valid'
}

function shown(record: KeyRecord) {
  const time = (ms: number | null) => (ms === null ? null : formatTime(ms))
  return {
    id: record.id,
    account: record.accountId,
    environment: record.environment,
    name: record.name,
    hint: `…${record.hint}`,
    state: record.revokedAtMs === null ? 'valid' : 'revoked',
    scopes: record.scopes,
    allow_from: record.allowedCidrs,
    credit_cap: record.creditCap,
    created_at: time(record.createdAtMs),
    last_used_at: time(record.lastUsedAtMs),
    expires_at: time(record.expiresAtMs),
    revoked_at: time(record.revokedAtMs),
  }
}
