/**
 * `login` stores address and key for the other customer commands, once the service has accepted them; `logout` forgets
 * them.
 */
import { Tapeline } from '../../../clients/typescript/src/index.ts'
import { UsageError } from '../command.ts'
import type { CustomerTerminal } from './run-data.ts'
import { forgetLogin, isHttpUrl, storeLogin } from './service-login.ts'

export async function runLogin(
  { url, key }: { readonly url: string | undefined; readonly key: string | undefined },
  file: string,
  terminal: CustomerTerminal,
): Promise<void> {
  if (url === undefined || !isHttpUrl(url))
    throw new UsageError('The address of the service is missing: set --url or TAPELINE_URL to http(s)://…')
  if (key === undefined || key === '')
    throw new UsageError('The API key is missing: set TAPELINE_KEY or --key.')
  const { plan, credits } = await new Tapeline({ url, key, retries: 1 }).limits()
  storeLogin(file, { url, key })
  await terminal.print(`Plan ${plan}, ${credits.remaining} credits left. Stored in ${file}\n`)
}

/** The key stays valid; only the dashboard or the operator can revoke it. */
export async function runLogout(file: string, terminal: CustomerTerminal): Promise<void> {
  const said = forgetLogin(file) ? `Forgotten: ${file} is deleted.` : `Nothing is stored in ${file}.`
  await terminal.print(`${said}\n`)
}
