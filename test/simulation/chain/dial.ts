/** The dialler of a simulated process, in the form that node connections need. */
import type { DialNode } from '../../../src/upstreams/dial-node.ts'
import type { Dial } from '../../../src/venues/venue.ts'

export const nodeDial =
  (dial: Dial): DialNode =>
  (url, events) => {
    const socket = dial(url)
    let detail = 'closed by the node'
    socket.on('open', () => events.onOpen())
    socket.on('message', (data) => events.onMessage(data as Buffer))
    socket.on('ping', () => events.onPing())
    socket.on('pong', () => events.onPong())
    socket.on('error', (error) => {
      detail = error.message
    })
    socket.on('close', () => events.onClose(detail))
    return {
      send(texts) {
        for (const text of texts) socket.send(text)
      },
      ping: () => socket.ping(),
      terminate: () => socket.terminate(),
    }
  }
