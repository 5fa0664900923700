/**
 * A loopback stand-in for a venue's socket side: it records who came and what was sent to it, and does what its
 * script says.
 */
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'

export interface Visit {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly socket: WebSocket
  readonly received: string[]
  readonly openedMs: number
  closedMs: number | undefined
}

export interface ScriptedVenue {
  readonly url: string
  readonly visits: Visit[]
  /** Sockets that are open now. */
  open(): Visit[]
  broadcast(text: string): void
  /** New sockets get no answer to their handshake until this is taken back. */
  hangHandshakes(hang: boolean): void
  refuse(refuse: boolean): void
  close(): Promise<void>
}

const started = new Set<() => Promise<void>>()

/** Ends whatever a failed test left running, so that it fails at once instead of at the time limit. */
export function endAfterTest(end: () => Promise<void>): void {
  started.add(end)
}

export async function endAll(): Promise<void> {
  for (const end of started) await end()
  started.clear()
}

export async function scriptedVenue(
  script: {
    onOpen?: (visit: Visit, index: number) => void
    onMessage?: (visit: Visit, text: string) => void
  } = {},
): Promise<ScriptedVenue> {
  const http = createServer((_request, response) => response.writeHead(404).end())
  const wss = new WebSocketServer({ noServer: true })
  const visits: Visit[] = []
  const streams: Duplex[] = []
  const hanging: (() => void)[] = []
  let isHanging = false
  let isRefusing = false
  http.on('upgrade', (request, stream, head) => {
    stream.on('error', () => {})
    streams.push(stream)
    if (isRefusing) {
      stream.end('HTTP/1.1 503 Service Unavailable\r\n\r\n')
      return
    }
    const answer = () => {
      if (!stream.destroyed) wss.handleUpgrade(request, stream, head, (socket) => welcome(request, socket))
    }
    if (isHanging) hanging.push(answer)
    else answer()
  })
  function welcome(request: IncomingMessage, socket: WebSocket): void {
    const visit: Visit = {
      path: request.url ?? '',
      headers: request.headers,
      socket,
      received: [],
      openedMs: Date.now(),
      closedMs: undefined,
    }
    visits.push(visit)
    socket.on('error', () => {})
    socket.on('close', () => {
      visit.closedMs = Date.now()
    })
    socket.on('message', (data) => {
      visit.received.push(data.toString())
      script.onMessage?.(visit, data.toString())
    })
    script.onOpen?.(visit, visits.length - 1)
  }
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const open = () => visits.filter((visit) => visit.closedMs === undefined)
  const venue: ScriptedVenue = {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}`,
    visits,
    open,
    broadcast(text) {
      for (const visit of open()) visit.socket.send(text)
    },
    hangHandshakes(hang) {
      isHanging = hang
      if (!hang) for (const answer of hanging.splice(0)) answer()
    },
    refuse(refuse) {
      isRefusing = refuse
    },
    async close() {
      for (const stream of streams) stream.destroy()
      http.closeAllConnections()
      if (http.listening) await new Promise<void>((resolve) => http.close(() => resolve()))
    },
  }
  endAfterTest(venue.close)
  return venue
}
