import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { serviceCall } from './call-service.ts'
import { type McpService, mcpServerFactory } from './server.ts'

/**
 * The same server for programs that start it as a child process: its tools call a running service over HTTP. It ends
 * with stdin.
 */
export function serveMcpOverStdio(
  service: McpService,
  options: { readonly url: string; readonly key: string; readonly complain: (text: string) => void },
): Promise<void> {
  const { url, key, complain } = options
  const serverFor = mcpServerFactory(service)
  const call = serviceCall(url, key)
  const onFault = (error: unknown) => complain(error instanceof Error ? error.message : String(error))
  const handle = serveStdio(() => serverFor({ call, isOver: () => false, onFault }), {
    maxSubscriptions: 0,
    onerror: onFault,
  })
  return new Promise((resolve) => {
    // A file as input ends without being closed, while a pipe may be closed without ending.
    for (const event of ['end', 'close']) process.stdin.once(event, () => void handle.close().then(resolve))
  })
}
