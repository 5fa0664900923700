/** One socket of the perpetual venue: subscribe, unsubscribe, ping, post. */
import type { Session, VenueSocket } from '../server/sockets.ts'
import type { World } from '../world/world.ts'
import { parseSubscription, replayFrame } from './channels.ts'

export function openSession(options: {
  world: World
  socket: VenueSocket
  maxStreams: number
  now: () => number
  /** Answers `info` requests sent over the socket. */
  info: (body: unknown) => Promise<unknown>
}): Session {
  const { world, socket } = options
  const say = (channel: string, data: unknown) => socket.say(JSON.stringify({ channel, data }))
  const refuse = (text: string) => say('error', `Error parsing JSON into valid websocket request: ${text}`)

  function subscribe(value: unknown, text: string): void {
    const parsed = parseSubscription(world, value)
    if (parsed === 'malformed') refuse(text)
    // One unknown coin ends the whole socket, without a word.
    else if (parsed === 'unknown-coin') socket.cut()
    else if (socket.streams.has(parsed.stream))
      say('error', `Already subscribed: ${JSON.stringify(parsed.echo)}`)
    else if (socket.streams.size >= options.maxStreams) say('error', 'Cannot track more subscriptions')
    else {
      say('subscriptionResponse', { method: 'subscribe', subscription: parsed.echo })
      const replay = replayFrame(world, parsed.stream, options.now())
      if (replay !== undefined) socket.deliverAlone(replay)
      socket.subscribe(parsed.stream)
    }
  }

  function unsubscribe(value: unknown, text: string): void {
    const parsed = parseSubscription(world, value)
    if (parsed === 'malformed') refuse(text)
    else if (parsed === 'unknown-coin') socket.cut()
    else if (!socket.streams.has(parsed.stream))
      say('error', `Already unsubscribed: ${JSON.stringify(parsed.echo)}`)
    else {
      socket.unsubscribe(parsed.stream)
      say('subscriptionResponse', { method: 'unsubscribe', subscription: parsed.echo })
    }
  }

  async function post(id: unknown, request: unknown): Promise<void> {
    const payload = (request as { payload?: { type?: unknown } } | undefined)?.payload
    const data = await options.info(payload)
    say('post', { id, response: { type: 'info', payload: { type: payload?.type, data } } })
  }

  return {
    render: (frame) => frame.data,
    receive(text) {
      const message = parse(text)
      if (message?.method === 'ping') socket.sendData('{"channel":"pong"}')
      else if (message?.method === 'subscribe') subscribe(message.subscription, text)
      else if (message?.method === 'unsubscribe') unsubscribe(message.subscription, text)
      else if (message?.method === 'post') post(message.id, message.request).catch(() => socket.cut())
      else refuse(text)
    },
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
