import type { TSchema } from 'typebox'
import { EVENT_KINDS, type EventKind } from '../../events/kinds.ts'

/** The stream and the webhook deliveries as AsyncAPI 3, derived from the event kinds. */
const VERSION = '3.0.0'

const text = (description: string) => ({ type: 'string', description })
const whole = (description: string) => ({ type: 'integer', minimum: 0, description })
const frame = (type: string, properties: Record<string, unknown>, required: readonly string[] = []) => ({
  type: 'object',
  required: ['type', ...required],
  properties: { type: { const: type }, ...properties },
})
const order = (op: string, properties: Record<string, unknown>, required: readonly string[] = []) => ({
  type: 'object',
  required: ['op', ...required],
  additionalProperties: false,
  properties: { op: { const: op }, id: text('Name of the subscription or ping.'), ...properties },
})
const kinds = { type: 'array', minItems: 1, items: { enum: [...EVENT_KINDS] } }

const SERVER_FRAMES = {
  welcome: {
    summary: 'The connection is open.',
    payload: frame('welcome', {
      connection: text('Name of the connection.'),
      network: text('Network of the events.'),
      seq: whole('Number of the newest event.'),
      plan: text('Plan of the account.'),
      limits: {
        type: 'object',
        properties: { connections: whole('Connections.'), addresses: whole('Addresses per connection.') },
      },
      ping_seconds: whole('How often the server pings.'),
    }),
  },
  subscribed: {
    summary: 'A subscription is taken; its past events follow.',
    payload: frame('subscribed', {
      id: text('Name of the subscription.'),
      state: { const: 'syncing' },
      kinds,
      address_count: whole('Addresses of the subscription.'),
      after_seq: whole('Events after this number follow.'),
    }),
  },
  live: {
    summary: 'A subscription has caught up.',
    payload: frame('live', { id: text('Name of the subscription.'), seq: whole('Up to here all was sent.') }),
  },
  gap: {
    summary: 'Events that the log does not have any more, or never had.',
    payload: frame('gap', {
      id: text('Name of the subscription.'),
      after_seq: whole('The gap begins after this number.'),
      up_to_seq: whole('The gap ends with this number.'),
      reason: {
        enum: ['retention', 'unknown_position', 'pruned', 'blocks_pruned', 'unreadable'],
        description:
          'The last three: the chain could not be read there, and such events never were in the log.',
      },
      kinds: { ...kinds, description: 'Kinds that are missing events; of the last three reasons.' },
      from: text('Time of the last block before; of the last three reasons.'),
      to: text('Time of the first block after; of the last three reasons.'),
    }),
  },
  unsubscribed: {
    summary: 'A subscription has ended.',
    payload: frame('unsubscribed', { id: text('Name of the subscription.') }),
  },
  pong: { summary: 'Answer to a ping.', payload: frame('pong', { id: text('As in the ping.') }) },
  error: {
    summary: 'A message was not taken.',
    payload: frame('error', {
      code: text('invalid_param, not_found or too_many_subscriptions.'),
      message: text('For a person.'),
      id: text('Name of the subscription.'),
      param: text('First wrong field.'),
      errors: { type: 'array', items: { type: 'object' }, description: 'Every fault.' },
    }),
  },
}

const CLIENT_FRAMES = {
  subscribe: {
    summary: 'Asks for events.',
    payload: order(
      'subscribe',
      {
        kinds,
        addresses: { type: 'array', items: { type: 'string' } },
        resume_after: whole('Events after this number are sent first.'),
      },
      ['kinds'],
    ),
  },
  unsubscribe: { summary: 'Ends one subscription, or all.', payload: order('unsubscribe', {}) },
  ping: { summary: 'Asks for a pong.', payload: order('ping', {}) },
}

export function asyncapiDocument(schemaOf: (kind: EventKind) => TSchema): object {
  const schemas = Object.fromEntries(EVENT_KINDS.map((kind) => [kind, schemaOf(kind)]))
  const event = { oneOf: EVENT_KINDS.map((kind) => ({ $ref: `#/components/schemas/${kind}` })) }
  const messages = {
    ...SERVER_FRAMES,
    ...CLIENT_FRAMES,
    event: { summary: 'An event, once for every client.', payload: frame('event', { event }, ['event']) },
    delivery: {
      summary: 'A signed POST.',
      payload: { oneOf: [event, { type: 'array', maxItems: 100, items: event }] },
      headers: DELIVERY_HEADERS,
    },
  }
  const refs = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]))
  const sent = [...Object.keys(SERVER_FRAMES), 'event']
  const taken = Object.keys(CLIENT_FRAMES)
  return {
    asyncapi: VERSION,
    info: {
      title: 'Tapeline events',
      version: '1.6.0',
      description: 'Stream and webhooks of the node group.',
    },
    defaultContentType: 'application/json',
    channels: {
      stream: {
        address: '/v1/ws',
        description: 'WebSocket. The key in the query parameter api_key or a header.',
        messages: refs([...sent, ...taken]),
        bindings: { ws: { query: { type: 'object', properties: { api_key: text('API key.') } } } },
      },
      webhook: {
        address: null,
        description: 'The url of a webhook. At least once; order not promised, seq tells it.',
        messages: refs(['delivery']),
      },
    },
    operations: {
      sendFrames: operation('send', 'stream', sent),
      receiveOrders: operation('receive', 'stream', taken),
      deliver: operation('send', 'webhook', ['delivery']),
    },
    components: { messages, schemas },
  }
}

const DELIVERY_HEADERS = {
  type: 'object',
  properties: {
    'X-Svc-Signature': text('sha256= and the hex HMAC-SHA256 of the raw body under the whole secret text.'),
    'X-Svc-Signature-Previous': text('The same under the replaced secret, for 24 hours after a rotation.'),
    'X-Svc-Event': text('Kind of the event, or batch.'),
    'X-Svc-Delivery': text('Id of the delivery; of a batch of several events an id of exactly these.'),
    'webhook-id': text('Standard Webhooks: the same id.'),
    'webhook-timestamp': text('Standard Webhooks: epoch seconds.'),
    'webhook-signature': text('Standard Webhooks: v1 signatures, one per valid secret.'),
  },
}

function operation(action: 'send' | 'receive', channel: string, names: readonly string[]) {
  return {
    action,
    channel: { $ref: `#/channels/${channel}` },
    messages: names.map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` })),
  }
}
