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

/** The whole API. Methods have the names of the endpoints; parameters and fields those of the reference. */
export class Tapeline extends Methods {
  readonly #transport: Transport
  readonly #options: TransportOptions

  constructor(options: TransportOptions) {
    super()
    this.#options = options
    this.#transport = new Transport(options)
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
