/** The limit: a bare Fastify route that returns the given bytes with no headers of ours. */
import { readFileSync } from 'node:fs'
import Fastify from 'fastify'

const body = readFileSync(process.argv[2] ?? '')
const app = Fastify({ logger: false })
app.get('/', (_request, reply) => {
  reply.header('content-type', 'application/json; charset=utf-8').send(body)
})
const address = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${address}\n`)
