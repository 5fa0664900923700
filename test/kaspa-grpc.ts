/** Recorded transactions in the node's other JSON style (amounts as text, zero members left out). */
import { kaspaFixture, transactionOf } from './kaspa-fixtures.ts'

interface GrpcTransaction {
  version?: number
  inputs?: {
    previousOutpoint: { transactionId: string; index?: number }
    signatureScript: string
    sequence?: string
    sigOpCount?: number
  }[]
  outputs: {
    amount: string
    scriptPublicKey: { scriptPublicKey: string; version?: number }
    verboseData: { scriptPublicKeyType: string; scriptPublicKeyAddress: string }
  }[]
  lockTime?: string
  subnetworkId: string
  gas?: string
  payload?: string
  verboseData: { transactionId: string; hash: string; mass?: string }
}

export function mainnetClassicTransactions() {
  return kaspaFixture<GrpcTransaction[]>('tx/mainnet-v0-10-transactions.grpc.json').map((recorded) => ({
    recorded,
    transaction: transactionOf({
      version: recorded.version ?? 0,
      inputs: (recorded.inputs ?? []).map((input) => ({
        previousOutpoint: { index: 0, ...input.previousOutpoint },
        signatureScript: input.signatureScript,
        sequence: input.sequence ?? 0,
        sigOpCount: input.sigOpCount ?? 0,
      })),
      outputs: recorded.outputs.map((output) => ({
        value: output.amount,
        scriptPublicKey: {
          version: output.scriptPublicKey.version ?? 0,
          script: output.scriptPublicKey.scriptPublicKey,
        },
      })),
      lockTime: recorded.lockTime ?? 0,
      subnetworkId: recorded.subnetworkId,
      gas: recorded.gas ?? 0,
      payload: recorded.payload ?? '',
    }),
  }))
}
