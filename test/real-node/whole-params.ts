/** Params as a node has to get them: with every member that a caller of the service may leave out. */
import { parseExact } from '../../sandbox/node/rpc/json.ts'
import type { Network } from '../../src/core/chain/network.ts'
import { validateParams } from '../../src/upstreams/validate-params.ts'

export function wholeParams(method: string, params: unknown, network: Network): unknown {
  const prepared = validateParams(method, params, network)
  if (!prepared.ok) throw new Error(`${method}: ${prepared.kind} ${JSON.stringify(prepared.faults)}`)
  return parseExact(prepared.call.paramsText)
}
