import { type CommandContext, type CommandForm, needed, UsageError } from './command.ts'

const SOMPI_DECIMALS = 8
/** `12`, `0.5`, `1.00000001`. */
const AMOUNT = /^(\d{1,11})(?:\.(\d{1,8}))?$/

/** The simulated nodes of the service that runs on this data folder. */
export interface SandboxAccess {
  /** Pays from the faucet and returns the transaction id. */
  pay(address: string, amountSompi: bigint): Promise<string>
  wallets(): Promise<{ name: string; address: string; secret: string }[]>
}

/** A command that asks the running sandbox. It does not open the store. */
interface SandboxCommand extends CommandForm {
  run(context: Pick<CommandContext, 'values' | 'output'> & { readonly sandbox: SandboxAccess }): Promise<void>
}

/** Coins of the simulated chain, for trying out submission, history and webhooks. */
export const SANDBOX_COMMANDS: readonly SandboxCommand[] = [
  {
    name: 'sandbox pay',
    about: 'Sends test coins from the faucet of the running sandbox to an address.',
    options: {
      to: { about: 'Address that gets them, such as kaspatest:qr….', required: true },
      amount: { about: 'How many TKAS, such as 12.5.', required: true },
    },
    async run({ values, output, sandbox }) {
      const to = needed(values, 'to')
      const amountSompi = sompiOf(needed(values, 'amount'))
      const transactionId = await sandbox.pay(to, amountSompi)
      output.print({
        transaction_id: transactionId,
        to,
        amount_sompi: String(amountSompi),
        history: `GET /v1/addresses/${to}/transactions`,
      })
    },
  },
  {
    name: 'sandbox wallets',
    about: 'Lists wallets of the simulated chain that have coins, with their private keys.',
    options: {},
    async run({ output, sandbox }) {
      output.print(await sandbox.wallets(), ['name', 'address', 'secret'])
    },
  },
]

function sompiOf(text: string): bigint {
  const [, whole, decimals = ''] = AMOUNT.exec(text) ?? []
  const sompi = whole === undefined ? 0n : BigInt(whole + decimals.padEnd(SOMPI_DECIMALS, '0'))
  if (sompi === 0n)
    throw new UsageError('--amount must be a number of TKAS above 0 with at most 8 decimals, such as 12.5.')
  return sompi
}
