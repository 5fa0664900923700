/** The control port of a node: faults, chain commands, the request log, the truth. */
import { type ControlRequest, type ControlRoutes, startControlPort } from '../server/control-port.ts'
import type { HttpServer } from '../server/http.ts'
import { parseObject } from '../server/json.ts'
import { NO_FAULTS, readFaults } from './faults.ts'
import { isNetworkId } from './networks.ts'
import type { RunningSandboxNode } from './running-node.ts'

function bodyOf({ body }: ControlRequest): Record<string, unknown> {
  const value = body === '' ? {} : parseObject(body)
  if (value === undefined) throw new RangeError('body must be an object')
  return value
}

const routesOf = (node: RunningSandboxNode): ControlRoutes => ({
  'GET /status': () => node.status(),
  'GET /faults': () => node.faults(),
  'POST /faults': (request) => {
    const read = readFaults(bodyOf(request))
    if ('wrong' in read) throw new RangeError(`not a fault or of the wrong type: ${read.wrong}`)
    if (typeof read.faults.network === 'string' && !isNetworkId(read.faults.network))
      throw new RangeError('unknown network')
    node.setFaults(read.faults)
    return node.faults()
  },
  'DELETE /faults': () => {
    node.setFaults(NO_FAULTS)
    return node.faults()
  },
  'POST /die': () => {
    setImmediate(() => void node.die())
    return { dying: true }
  },
  'POST /reorganize': async (request) => {
    const { depth, doubleSpend } = bodyOf(request)
    await node.reorganize(Number(depth ?? 10), doubleSpend === true)
    return {}
  },
  'POST /pay': async (request) => {
    const { address, amount } = bodyOf(request)
    if (typeof address !== 'string' || !/^\d+$/.test(String(amount)))
      throw new RangeError('address and amount (sompi) are needed')
    return { transactionId: (await node.pay(address, BigInt(String(amount)))) ?? null }
  },
  'GET /log': () => ({ counts: node.log.counts(), recent: node.log.recent() }),
  'GET /wallets': () => node.wallets(),
  'GET /truth/address': ({ rest }) => node.truth.address(rest),
  'GET /truth/transaction': ({ rest }) => node.truth.transaction(rest) ?? null,
})

export const startControl = (node: RunningSandboxNode, port: number): Promise<HttpServer> =>
  startControlPort(port, routesOf(node))
