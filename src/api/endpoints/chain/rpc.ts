import { base } from '../../contract/costs.ts'
import { object } from '../../contract/endpoint.ts'
import { CONTENT_TYPES } from '../../contract/envelopes.ts'
import { endpoint } from '../services.ts'
import { type RpcBody, readRpcBody, rpcDemand } from './rpc-read.ts'
import { runRpc } from './rpc-run.ts'
import { RpcRequest, RpcResponse, rpcGuide } from './rpc-schema.ts'
import { writeAnswers } from './rpc-write.ts'

const RETRY = [['Retry-After', '1']] as const

export const rpc = endpoint({
  path: 'POST /rpc',
  doc: {
    tag: 'node',
    summary: 'JSON-RPC to the node',
    description: rpcGuide(),
    example: { jsonrpc: '2.0', id: 1, result: { sinkBlueScore: 123456789 } },
  },
  access: { scope: 'node' },
  body: {
    name: 'RpcRequest',
    schema: RpcRequest,
    example: { jsonrpc: '2.0', id: 1, method: 'getSinkBlueScore', params: {} },
    read: (bytes, services) => readRpcBody(bytes, services.chain.upstreams.prepare),
  },
  demand: rpcDemand,
  cost: base(0).per('light call', 1).per('heavy call', 5),
  returns: object('RpcResponse', RpcResponse, 200, {
    503: 'No node could answer any of the calls; each answer has the code -32020.',
  }),
  run: async ({ body, services, heavySlots }) => {
    const { isBatch, items } = body as RpcBody
    const answers = await runRpc({ isBatch, items }, services.chain, heavySlots)
    const units = { 'light call': 0, 'heavy call': 0 }
    for (const { unit } of answers) if (unit !== undefined) units[unit]++
    const down = answers.every((answer) => answer.unavailable)
    return {
      kind: 'text',
      text: writeAnswers(answers, isBatch),
      contentType: CONTENT_TYPES.json,
      units,
      ...(down ? { status: 503, headers: RETRY } : {}),
    }
  },
})
