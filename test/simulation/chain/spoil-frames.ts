/** Changes the outgoing frames of a node into those that a defective node would send. */
import type { ServerSocket } from '../../../sandbox/server/transport.ts'
import type { Random } from '../random.ts'

export type SpoiledFrames =
  /** A frame ends in the middle. */
  | 'truncated'
  /** Notifications are sent twice. */
  | 'repeated'
  /** A call gets the answer that an earlier call of its method got. */
  | 'stale-answer'

export interface Spoiler {
  behind(socket: ServerSocket): ServerSocket
  /** Spoils each frame with this probability until the returned function is called. */
  set(kind: SpoiledFrames, share: number): () => void
}

export function createSpoiler(random: Random): Spoiler {
  const active = new Set<{ readonly kind: SpoiledFrames; readonly share: number }>()
  const isHit = (kind: SpoiledFrames) =>
    [...active].some((fault) => fault.kind === kind && random.chance(fault.share))
  /** The last two answers of each method: the text after the id. */
  const answers = new Map<string, string[]>()

  function remember(text: string): { head: string; earlier: string | undefined } | undefined {
    const [, head, method] = /^(\{"id":[^,]+),"method":"(\w+)"/.exec(text) ?? []
    if (head === undefined || method === undefined) return undefined
    const known = answers.get(method) ?? []
    const [earlier] = known
    answers.set(method, [...known, text.slice(head.length)].slice(-8))
    return { head, earlier }
  }

  function spoiled(text: string): string[] {
    if (isHit('truncated')) return [text.slice(0, Math.ceil(text.length * 0.6))]
    const answer = remember(text)
    if (answer === undefined) return isHit('repeated') ? [text, text] : [text]
    if (answer.earlier !== undefined && isHit('stale-answer')) return [answer.head + answer.earlier]
    return [text]
  }

  return {
    behind: (socket) =>
      new Proxy(socket, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          if (name !== 'send') return value.bind(target)
          return (data: string | Buffer) => {
            if (typeof data !== 'string' || active.size === 0) {
              if (typeof data === 'string') remember(data)
              return target.send(data)
            }
            for (const text of spoiled(data)) target.send(text)
          }
        },
      }),
    set(kind, share) {
      const fault = { kind, share }
      active.add(fault)
      return () => void active.delete(fault)
    },
  }
}
