/** Requests and messages designed to keep a server busy: large, deep, long, and wrong in every entry. */
import { encodeAddress } from '../../src/core/chain/address.ts'
import { type Network, networkInfo } from '../../src/core/chain/network.ts'

export type HostileInput =
  | {
      readonly kind: 'request'
      readonly path: string
      readonly body?: string
      readonly headers?: Record<string, string>
      /** The most characters that the answer may have. */
      readonly maxAnswerChars?: number
    }
  | { readonly kind: 'message'; readonly text: string }

const MEGABYTE = 1_000_000
const HOOK = 'http://127.0.0.1:9999/hook'

export function hostileInputs(seed: number, network: string): Record<string, HostileInput> {
  const { addressPrefix } = networkInfo(network as Network)
  const address = (index: number) => {
    const payload = Buffer.alloc(32)
    payload.writeUInt32BE(index)
    return encodeAddress({ prefix: addressPrefix, version: 0, payload })
  }
  const addresses = Array.from({ length: 10_000 }, (_, index) => address(index))
  const wrongAddresses = addresses.map((text) => `${text.slice(0, -1)}b`)
  const entries = (entry: (index: number) => string, chars = MEGABYTE) => {
    const parts: string[] = []
    for (let length = 0, index = 0; length < chars; index++)
      length += parts[parts.push(entry(index)) - 1]?.length ?? 0
    return parts
  }
  const strange = (chars = MEGABYTE) =>
    `{${entries((index) => `"strange_${index}":1,`, chars).join('')}"z":1}`
  const unknownKinds = entries((index) => `"block_aded${index}",`, 900_000).join('')
  const input = {
    previousOutpoint: { transactionId: 'd5'.repeat(32), index: 0 },
    signatureScript: `41${'00'.repeat(65)}`,
    sequence: '18446744073709551615',
    sigOpCount: 1,
  }
  const output = { value: 499_800_000, scriptPublicKey: `000020${'7b'.repeat(32)}ac` }
  const transaction = {
    version: 0,
    inputs: [input],
    outputs: [output],
    lockTime: 0,
    subnetworkId: '00'.repeat(20),
    gas: 0,
    payload: '',
  }
  const submit = (more: object) => JSON.stringify({ transaction: { ...transaction, ...more } })
  const call = (method: string, params: unknown, id = 1) => ({ jsonrpc: '2.0', id, method, params })
  const post = (path: string, body: string): HostileInput => ({
    kind: 'request',
    path,
    body,
    maxAnswerChars: 64_000,
  })
  const get = (path: string, headers: Record<string, string> = {}): HostileInput => ({
    kind: 'request',
    path,
    headers,
    maxAnswerChars: 20_000,
  })
  const rpc = (value: unknown) => post('/rpc', typeof value === 'string' ? value : JSON.stringify(value))
  const hook = (more: object) =>
    post('/v1/webhooks', JSON.stringify({ url: HOOK, kinds: ['utxos_changed'], ...more }))
  const message = (text: string): HostileInput => ({ kind: 'message', text })

  return {
    'webhook with the most addresses': { ...hook({ addresses }), maxAnswerChars: MEGABYTE } as HostileInput,
    'webhook with wrong addresses': hook({ addresses: wrongAddresses }),
    'webhook with numbers for addresses': hook({ addresses: new Array(10_000).fill(1) }),
    'webhook with far too many addresses': hook({ addresses: new Array(200_000).fill('') }),
    'webhook with far too many kinds': post(
      '/v1/webhooks',
      `{"url":"${HOOK}","kinds":[${unknownKinds}"x"]}`.slice(0, 860_000),
    ),
    'webhook with unknown kinds': hook({
      kinds: Array.from({ length: 50 }, (_, i) => `utxos_chnged${i}`.repeat(9)),
    }),
    'webhook with strange members': post('/v1/webhooks', strange(800_000)),
    'submission of the largest transaction': post(
      '/v1/transactions/submit',
      submit({
        inputs: new Array(1_000).fill(input),
        outputs: new Array(1_000).fill(output),
        payload: 'ab'.repeat(220_000),
      }),
    ),
    'submission with far too many inputs': post(
      '/v1/transactions/submit',
      submit({ inputs: new Array(400_000).fill(1) }),
    ),
    'submission with wrong inputs': post(
      '/v1/transactions/submit',
      submit({ inputs: new Array(1_000).fill({ a: { b: [{}] } }) }),
    ),
    'submission with strange members': post('/v1/transactions/submit', `{"transaction":${strange()}}`),
    'rpc with strange params': rpc(
      `{"jsonrpc":"2.0","id":1,"method":"getBlock","params":${strange(990_000)}}`,
    ),
    'rpc with a thousand strange params': rpc(
      `{"jsonrpc":"2.0","id":1,"method":"getBlock","params":${strange(14_000)}}`,
    ),
    'rpc batch of addresses': rpc(
      Array.from({ length: 14 }, (_, index) =>
        call('getUtxosByAddresses', { addresses: addresses.slice(0, 1_000) }, index),
      ),
    ),
    'rpc batch of wrong addresses': rpc(
      Array.from({ length: 14 }, (_, index) =>
        call('getUtxosByAddresses', { addresses: wrongAddresses.slice(0, 1_000) }, index),
      ),
    ),
    'rpc batch of a hundred thousand': rpc(`[${'1,'.repeat(500_000)}1]`),
    'rpc with a block of transactions': rpc(
      call('submitBlock', {
        block: { header: {}, transactions: new Array(1_800).fill(transaction) },
        allowNonDAABlocks: false,
      }),
    ),
    'rpc with an unknown method of a megabyte': rpc(call('g'.repeat(990_000), {})),
    'a number of a million digits': rpc(`{"jsonrpc":"2.0","id":${'9'.repeat(1_000_000)}}`),
    'deep brackets': rpc('['.repeat(1_000_000)),
    'a megabyte of objects': rpc(`[${'{},'.repeat(330_000)}{}]`),
    'a megabyte of escapes': rpc(`"${'\\u0041'.repeat(166_000)}"`),
    'the same member again and again': rpc(`{${'"a":1,'.repeat(160_000)}"a":1}`),
    'thousands of query parameters': get(`/v1/candles?${entries((index) => `x${index}=1&`, 8_100).join('')}`),
    'thousands of unnamed query parameters': get(`/v1/health?${'a&'.repeat(4_000)}`),
    'unknown parameters up to the bound': get(
      `/v1/candles?${Array.from({ length: 64 }, (_, i) => `${'symbl'.repeat(15)}${i}=1`).join('&')}`,
    ),
    'a cursor of eight thousand characters': get(`/v1/candles?symbol=BTC&after=${'A'.repeat(8_000)}`),
    'long header values': get('/v1/candles?symbol=BTC', {
      Accept: 'a/b;q=0.1,'.repeat(600),
      'If-None-Match': '"x",'.repeat(1_000),
      'Accept-Encoding': 'gzip;q=0,'.repeat(200),
    }),
    'the deepest books as CSV': {
      kind: 'request',
      path: '/v1/predmkt_a/orderbook?symbol=BTC&market_type=5m&depth=50&limit=500&format=csv',
    },
    'a path of many parts': get(`/${'v1/'.repeat(2_000)}`),
    'sign-in with strange members': post('/dashboard/api/sign-in', strange(60_000)),
    'subscribe with unknown kinds': message(`{"op":"subscribe","kinds":[${unknownKinds}"x"]}`),
    'subscribe with the most addresses': message(
      JSON.stringify({ op: 'subscribe', kinds: ['utxos_changed'], addresses }),
    ),
    'subscribe with wrong addresses': message(
      JSON.stringify({ op: 'subscribe', kinds: ['utxos_changed'], addresses: wrongAddresses }),
    ),
    'subscribe with strange members': message(strange()),
    'a message of zeros': message(`[${'0,'.repeat(500_000)}0]`),
    'a message of brackets': message('['.repeat(1_000_000)),
    ...drawn(seed, { rpc, hook: (text) => post('/v1/webhooks', text), message }),
  }
}

/** Large texts of random shape, from the seed. */
function drawn(
  seed: number,
  to: Record<string, (text: string) => HostileInput>,
): Record<string, HostileInput> {
  let state = seed || 1
  const draw = (below: number) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
  const value = (depth: number): string => {
    switch (draw(depth > 3 ? 5 : 7)) {
      case 0:
        return String(draw(2 ** 31))
      case 1:
        return `${draw(10)}e${draw(300)}`
      case 2:
        return `"${'x'.repeat(draw(30))}"`
      case 3:
        return '9'.repeat(1 + draw(40))
      case 4:
        return 'null'
      case 5:
        return `[${Array.from({ length: draw(6) }, () => value(depth + 1)).join(',')}]`
      default:
        return `{${Array.from({ length: draw(6) }, (_, index) => `"m${index}":${value(depth + 1)}`).join(',')}}`
    }
  }
  const frames = [
    '[%]',
    '{"jsonrpc":"2.0","id":1,"method":"getBlock","params":{"hash":[%]}}',
    '{"op":"subscribe","kinds":[%]}',
    '{"kinds":["x"],"addresses":[%]}',
  ]
  const inputs: Record<string, HostileInput> = {}
  for (const [name, make] of Object.entries(to)) {
    for (let round = 0; round < 2; round++) {
      const parts: string[] = []
      for (let length = 0; length < 850_000; ) length += (parts[parts.push(value(0)) - 1]?.length ?? 0) + 1
      const frame = frames[draw(frames.length)] ?? '%'
      inputs[`drawn ${name} ${round}`] = make(frame.replace('%', () => parts.join(',')))
    }
  }
  return inputs
}
