/** Holds the token entries while the transactions of one step are applied to them, one after the other. */
import { type ExactJson, parseExact, writeExact } from '../../kit/exact-json.ts'
import {
  amountPlace,
  holderKey,
  type TokenChange,
  type TokenEntry,
  type TokenFacts,
  tokenKey,
} from '../../store/tokens.ts'

/** `locked` is the amount listed for sale. */
export interface Holding {
  readonly balance: bigint
  readonly locked: bigint
  /** For covenant tokens: the number of outputs that hold the amount. */
  readonly outputs: number
}

const NOTHING: Holding = { balance: 0n, locked: 0n, outputs: 0 }

export class TokenEntries {
  readonly #entries: Map<string, TokenEntry | null>
  #changes = new Map<string, TokenChange>()

  constructor(stored: ReadonlyMap<string, TokenEntry>) {
    this.#entries = new Map(stored)
  }

  token(token: string): TokenFacts | null {
    const entry = this.#get(tokenKey(token))
    return entry === null ? null : (JSON.parse(entry.value) as TokenFacts)
  }

  setToken(token: string, facts: TokenFacts): void {
    this.#set(tokenKey(token), { token, kind: 'token', place: '', value: JSON.stringify(facts) })
  }

  holding(token: string, holder: string): Holding {
    const entry = this.#get(holderKey(token, holder))
    if (entry === null) return NOTHING
    const { balance, locked, outputs } = JSON.parse(entry.value) as Record<string, string | number>
    return { balance: BigInt(balance ?? 0), locked: BigInt(locked ?? 0), outputs: Number(outputs ?? 0) }
  }

  /** Returns the change in the number of holders. */
  setHolding(token: string, holder: string, { balance, locked, outputs }: Holding): number {
    const key = holderKey(token, holder)
    const had = this.#get(key) !== null
    const total = balance + locked
    const has = total > 0n || outputs > 0
    const value = `{"balance":"${balance}","locked":"${locked}","outputs":${outputs}}`
    this.#set(key, has ? { token, kind: 'holder', place: amountPlace(total), value } : null)
    return Number(has) - Number(had)
  }

  /** Reads any other entry by its key. */
  read(key: string): ExactJson | null {
    const entry = this.#get(key)
    const parsed = entry === null ? undefined : parseExact(entry.value)
    return parsed?.ok ? parsed.value : null
  }

  write(key: string, entry: { token: string; kind: 'order' | 'output'; value: ExactJson } | null): void {
    this.#set(key, entry && { ...entry, place: '', value: writeExact(entry.value) })
  }

  /** Returns the changes since the last call. */
  takeChanges(): TokenChange[] {
    const changes = [...this.#changes.values()].filter(({ before, after }) => !isSame(before, after))
    this.#changes = new Map()
    return changes
  }

  #get(key: string): TokenEntry | null {
    return this.#entries.get(key) ?? null
  }

  #set(key: string, after: TokenEntry | null): void {
    const changed = this.#changes.get(key)
    this.#changes.set(key, { key, before: changed === undefined ? this.#get(key) : changed.before, after })
    this.#entries.set(key, after)
  }
}

function isSame(a: TokenEntry | null, b: TokenEntry | null): boolean {
  if (a === null || b === null) return a === b
  return a.value === b.value && a.place === b.place && a.kind === b.kind
}
