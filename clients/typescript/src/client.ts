import {
  type CallOptions,
  type DryRun,
  Methods,
  OPERATIONS,
  type Operation,
  type PricedParams,
} from './generated.ts'
import { Rows } from './rows.ts'
import { EventStream, type StreamOptions } from './stream.ts'
import { Transport, type TransportOptions } from './transport.ts'

export interface TapelineOptions extends Omit<TransportOptions, 'url' | 'key'> {
  /** Where the service is, for example `https://data.example.com`. */
  readonly url?: string | undefined
  /** `svc_live_…` or `svc_test_…`. */
  readonly key?: string | undefined
}

/** A browser has no environment, and Deno may not be allowed to read it. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  try {
    return process?.env?.[name]
  } catch {
    return undefined
  }
}

/** The whole API. Methods are named after the endpoints; parameters and fields have the names of the reference. */
export class Tapeline extends Methods {
  readonly #transport: Transport
  readonly #options: TransportOptions

  /** `url` and `key` default to `TAPELINE_URL` and `TAPELINE_KEY`. */
  constructor(options: TapelineOptions = {}) {
    super()
    const { url = environment('TAPELINE_URL'), key = environment('TAPELINE_KEY') } = options
    if (!url || !key) throw new TypeError('Give url and key, or set TAPELINE_URL and TAPELINE_KEY.')
    this.#options = { ...options, url, key }
    this.#transport = new Transport(this.#options)
  }

  /** What a call would cost, without making it: `client.cost('candles', { symbol: 'BTC' })`. */
  async cost<Name extends keyof PricedParams>(name: Name, params: PricedParams[Name]): Promise<DryRun> {
    const { body } = await this.#transport.call(OPERATIONS[name], { ...params, dry_run: true })
    return body as DryRun
  }

  /** Chain events, without loss or repetition over any number of connections. */
  stream(options: StreamOptions): EventStream {
    const url = new URL(`${this.#options.url.replace(/\/+$/, '').replace(/^http/, 'ws')}/v1/ws`)
    url.searchParams.set('api_key', this.#options.key)
    return new EventStream(url.href, options)
  }

  protected override rowsOf<Row, Meta>(
    operation: Operation,
    params: object,
    options?: CallOptions,
  ): Rows<Row, Meta> {
    return new Rows(
      operation,
      params,
      (given, more, maxLost) => this.#transport.call(operation, given, more, undefined, maxLost),
      options,
    )
  }

  protected override async answerOf<T>(
    operation: Operation,
    params: object,
    options?: CallOptions,
    body?: unknown,
  ): Promise<T> {
    return (await this.#transport.call(operation, params, options, body)).body as T
  }
}
