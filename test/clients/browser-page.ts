/** What a page does with the client that it loaded; runs in the browser. */
import type * as Client from '../../clients/typescript/src/index.ts'

export interface PageInput {
  readonly url: string
  readonly key: string
  readonly address: string
  readonly delivery: {
    readonly headers: Record<string, string>
    readonly body: string
    readonly secret: string
    readonly nowMs: number
  }
}

export async function useClient({ url, key, address, delivery }: PageInput) {
  const path = '/index.ts'
  const { InvalidSourceError, Tapeline, verifyWebhook } = (await import(path)) as typeof Client
  const client = new Tapeline({ url, key })
  const asked = {
    symbol: 'BTC',
    source: 'cexa',
    interval: '1h',
    start: '2026-05-20',
    end: '2026-06-05',
    limit: 100,
  } as const
  let rows = 0
  for await (const _ of client.candles(asked)) rows += 1
  const again = await client.candles(asked).page()
  const refusal = await client
    .funding({ symbol: 'BTC', source: 'nowhere' as 'perpdex' })
    .page()
    .catch((error: unknown) => error)
  const webhook = await client.createWebhook({ url: 'https://1.1.1.1/hook', kinds: ['krc20_activity'] })
  const deleted = await client.deleteWebhook({ id: webhook.id })
  let daaScore = ''
  for await (const event of client.stream({
    kinds: ['utxos_changed'],
    addresses: [address],
    resumeAfter: 0,
  })) {
    if (event.kind === 'utxos_changed') daaScore = `${typeof event.data.daa_score} ${event.data.daa_score}`
    break
  }
  const events = await verifyWebhook(delivery.headers, delivery.body, delivery.secret, {
    nowMs: delivery.nowMs,
  })
  return {
    rows,
    isCached: again.fromCache,
    isTyped: refusal instanceof InvalidSourceError,
    isDeleted: deleted.deleted,
    daaScore,
    verified: events.length,
  }
}
