/** The schema of JSON-RPC bodies, derived from the table of methods. */
import { type TSchema, Type } from 'typebox'
import { textField } from '../../../core/rows/fields.ts'
import { RPC_METHODS, type RpcMethod } from '../../../upstreams/methods.ts'
import { MAX_BATCH, RPC_ERRORS } from './rpc-codes.ts'

const id = Type.Union([Type.String({ maxLength: 256 }), Type.Number(), Type.Null()], {
  description: 'Chosen by the caller, copied into the answer.',
})
const jsonrpc = Type.Literal('2.0', { description: 'Version of the protocol.' })

function callOf(method: RpcMethod): TSchema {
  const params = method.params as TSchema & { required?: readonly string[] }
  const needed = (params.required?.length ?? 0) > 0
  return Type.Object(
    {
      jsonrpc,
      id,
      method: Type.Literal(method.name),
      params: needed ? params : Type.Optional(params),
    },
    { title: method.name, ...describe(method), 'x-credits': method.price },
  )
}

/** The price is listed separately. */
function describe({ cacheMs }: RpcMethod): { description?: string } {
  return cacheMs === 0 ? {} : { description: `Answers are shared for up to ${cacheMs} ms.` }
}

const Call = Type.Union([...RPC_METHODS.values()].map(callOf))

export const RpcRequest = Type.Union([Call, Type.Array(Call, { minItems: 1, maxItems: MAX_BATCH })], {
  description: `A call, or a batch of up to ${MAX_BATCH} (and up to the requests per second of the plan).`,
})

const Success = Type.Object({
  jsonrpc,
  id,
  result: Type.Unknown({ description: 'What the node answered, byte for byte.' }),
})
const Failure = Type.Object({
  jsonrpc,
  id,
  error: Type.Object({
    code: Type.Integer({ enum: Object.values(RPC_ERRORS).map(({ code }) => code), description: 'Its kind.' }),
    message: textField('A sentence, or the text of the node.'),
    data: Type.Optional(Type.Unknown({ description: 'What is known in fields.' })),
  }),
})
const Answer = Type.Union([Success, Failure])

export const RpcResponse = Type.Union([Answer, Type.Array(Answer)], {
  description: 'An answer, or for a batch a list of answers in the order of the calls.',
})

/** The tables in the description of the endpoint. */
export function rpcGuide(): string {
  const codes = Object.values(RPC_ERRORS).map(({ code, means }) => `| ${code} | ${means} |`)
  const priced = (weight: RpcMethod['weight']) => {
    const methods = [...RPC_METHODS.values()].filter((method) => method.weight === weight)
    return methods.map(({ name }) => `\`${name}\``).join(', ')
  }
  return [
    'JSON-RPC 2.0 in front of the node, `params` as an object. Everything is checked before it is forwarded, and integers of 64 bits survive unchanged in both directions; they may also be sent as decimal text.',
    `A batch may have up to ${MAX_BATCH} calls and counts as that many requests; its answers keep the order of the calls. A balance or a rate that cannot take the whole batch refuses it whole with 402 or 429. Calls answered with \`error\` cost nothing, nor do those of a caller who disconnected before their answer.`,
    ['| code | meaning |', '|---|---|', ...codes].join('\n'),
    `Light methods, 1 credit each: ${priced('light')}.`,
    `Heavy methods, 5 credits each: ${priced('heavy')}. Their parameters are in the schema of the body.`,
    'Not served: addPeer, ban, unban, shutdown, resolveFinalityConflict, subscribe, unsubscribe and every method that begins with notify.',
  ].join('\n\n')
}
