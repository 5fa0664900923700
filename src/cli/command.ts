import type { Accounts } from '../accounts/accounts.ts'
import type { Environment } from '../core/environment.ts'
import type { Source } from '../core/source.ts'
import type { AssetSymbol } from '../core/symbol.ts'
import type { Clock } from '../kit/clock.ts'
import type { ChainGap } from '../store/chain.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import type { UserRecord } from '../store/users.ts'
import type { Output } from './output.ts'

/** The name, description and options of a command. */
export interface CommandForm {
  readonly name: string
  readonly about: string
  readonly options: Readonly<Record<string, Option>>
  /** The command reads from a running service, which anybody may operate. */
  readonly isForCustomers?: true
}

/** A command on the accounts and recorded data of the configured store. */
export interface CliCommand extends CommandForm {
  run(context: CommandContext): Promise<void>
}

interface Option {
  readonly about: string
  /** The option takes no value; if given, it is `on`. */
  readonly isFlag?: true
  readonly required?: boolean
  readonly fallback?: string
}

export interface CommandContext {
  readonly values: Readonly<Record<string, string | undefined>>
  readonly output: Output
  readonly accounts: Accounts
  readonly clock: Clock
  readonly market: () => Promise<MarketAccess>
  readonly users: UsersAccess
  /** The public URL of the service, otherwise that of the service running on this folder. */
  readonly serviceUrl: () => string
  /** The default environment of commands: one that is switched on. */
  readonly usualEnvironment: Environment
}

/** Users of the dashboard. */
export interface UsersAccess {
  list(): Promise<UserRecord[]>
  /** A one-time token to set a new password; recorded in the audit log. */
  issueReset(email: string): Promise<{ token: string; user: UserRecord; expiresAtMs: number }>
}

/** Recorded data for commands: opened on demand, closed by main. */
export interface MarketAccess {
  store(environment: Environment): Promise<EnvironmentStore>
  /** The newest gaps of the chain index, oldest first. */
  chainGaps(environment: Environment): Promise<ChainGap[]>
  backfill(request: BackfillRequest): Promise<BackfillSummary>
  /** One line per venue. */
  checkVenues(environment: Environment): Promise<{ venue: string; ok: boolean; line: string }[]>
}

export interface BackfillRequest {
  readonly environment: Environment
  readonly source: Source
  readonly symbols: readonly AssetSymbol[]
  readonly fromMs: number
  readonly toMs: number
  readonly onProgress: (progress: { done: number; total: number; step: string }) => void
}

export interface BackfillSummary {
  readonly ranges: number
  readonly failed: number
  readonly rowsInserted: number
  /** Rows that replaced other bytes; the old ones remain readable (`revisions`). */
  readonly rowsCorrected: number
}

/** The command failed; shown without a stack trace. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** Wrong usage; shown without a stack trace. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

export function needed(values: CommandContext['values'], name: string): string {
  const value = values[name]
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing.`)
  return value
}

/** Help was requested. */
export class HelpWanted extends Error {
  override readonly name = 'HelpWanted'
}
