/** The process: where it listens, what it does, where it stores data, what it reports. */
import { parseCidr } from '../kit/ip-range.ts'
import { redactAddresses } from '../kit/redact-address.ts'
import {
  anyText,
  listOf,
  oneOf,
  onOff,
  optionalText,
  optionalWhole,
  secret,
  setting,
  url,
  whole,
} from './setting.ts'

/** The roles that a process can have; by default it has all of them. */
export const PROCESS_ROLES = ['api', 'record', 'index', 'deliver', 'upkeep'] as const
export type ProcessRole = (typeof PROCESS_ROLES)[number]

/** Up to the last @, because this may be a wrong address, whose password contains a slash that is not encoded. */
const LOGIN = /^(postgres(?:ql)?:\/\/).*@/s

const roles = listOf(`some of ${PROCESS_ROLES.join(', ')}`, (value) =>
  PROCESS_ROLES.find((role) => role === value),
)
/** A process without any role would run and do nothing. */
const someRoles = {
  ...roles,
  read: (value: string): readonly ProcessRole[] | undefined => {
    const read = roles.read(value)
    return read?.length === 0 ? undefined : read
  },
}

export const SERVICE_SETTINGS = {
  host: setting('HOST', 'Address that the service listens on.', '127.0.0.1', anyText),
  port: setting('PORT', 'Port that the service listens on; 0 picks a free one.', 8080, whole(0, 65_535)),
  tlsCert: setting(
    'TLS_CERT',
    'PEM file of the certificate (with those between it and its root) that the service answers with; read again when it changes.',
    null,
    optionalText,
  ),
  tlsKey: setting('TLS_KEY', 'PEM file of the private key of that certificate.', null, optionalText),
  publicUrl: setting('PUBLIC_URL', 'Address under which callers reach the service.', null, {
    allowed: 'an http(s) address',
    read: (value: string): string | null | undefined => (/^https?:/.test(value) ? url(value) : undefined),
  }),
  statusPage: setting('STATUS_PAGE', 'Whether anybody may read the status page at /status.', true, onOff),
  trustedProxies: setting(
    'TRUSTED_PROXIES',
    'Address ranges of proxies whose X-Forwarded-For is believed.',
    [] as string[],
    listOf('ranges such as 10.0.0.0/8', (value) => parseCidr(value)?.text),
  ),
  corsOrigins: setting(
    'CORS_ORIGINS',
    'Origins that browsers may call from; * is any.',
    ['*'],
    listOf('origins such as https://app.example.com', (value) =>
      value === '*' ? value : /^https?:/.test(value) && url(value) ? new URL(value).origin : undefined,
    ),
  ),
  bodyLimitBytes: setting(
    'BODY_LIMIT',
    'Largest body in bytes that /rpc, submission and webhooks may take; all others take 64 kB.',
    1_048_576,
    whole(1_024, 134_217_728),
  ),
  streamPending: setting(
    'STREAM_PENDING',
    'Stream connections of one address (of an IPv6 /64 network) that have no accepted key yet.',
    64,
    whole(1, 100_000),
  ),
  data: setting('DATA', 'Folder of the databases and secrets.', './data', anyText),
  store: setting(
    'STORE',
    'Address of a PostgreSQL store that processes share; off uses TAPELINE_DATA.',
    null,
    {
      allowed: 'an address such as postgres://tapeline@db1,db2/tapeline, or off',
      read: (value: string): string | null | undefined =>
        value === 'off' ? null : /^postgres(?:ql)?:\/\//.test(value) ? value : undefined,
      shown: (value) => (value === null ? 'off' : value.replace(LOGIN, '$1***@')),
      carriesKeys: true,
    },
  ),
  roles: setting(
    'ROLES',
    'What this process does; several processes can share the work on a PostgreSQL store.',
    PROCESS_ROLES as readonly ProcessRole[],
    someRoles,
  ),
  secret: secret(
    setting(
      'SECRET',
      'Encrypts what processes on a PostgreSQL store share; the same for all of them.',
      null,
      {
        allowed: 'at least 32 characters',
        read: (value: string): string | null | undefined => (value.length >= 32 ? value : undefined),
      },
    ),
  ),
  cacheMb: setting(
    'CACHE_MB',
    'Memory for the caches of stored data of an environment, in MB; every connection takes a share of it.',
    128,
    whole(16, 65_536),
  ),
  pageCacheMb: setting(
    'PAGE_CACHE_MB',
    'Memory for pages that will not change, rendered and compressed, in MB; 0 stores none.',
    64,
    whole(0, 65_536),
  ),
  logLevel: setting(
    'LOG_LEVEL',
    'Least severe log lines that are written.',
    'info' as const,
    oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
  ),
  logFormat: setting(
    'LOG_FORMAT',
    'Format of log lines: json, or pretty for people (text and color choose whether it is colored); auto is pretty on a terminal and JSON elsewhere.',
    'auto' as const,
    oneOf(['auto', 'json', 'pretty', 'text', 'color']),
  ),
  metricsPort: setting(
    'METRICS_PORT',
    'Port of /metrics on the loopback address; off leaves it to the token.',
    null,
    optionalWhole(0, 65_535),
  ),
  metricsToken: secret(
    setting('METRICS_TOKEN', 'Bearer token for /metrics on the main port.', null, {
      allowed: 'at least 16 characters',
      read: (value: string): string | null | undefined => (value.length >= 16 ? value : undefined),
    }),
  ),
  otlpEndpoint: {
    ...setting(
      'OTLP_ENDPOINT',
      'Address of an OpenTelemetry collector (OTLP over HTTP) that traces are sent to; left out: none are made.',
      null,
      {
        allowed: 'an address such as http://127.0.0.1:4318',
        read: (value: string): string | null | undefined =>
          value === 'off' ? null : /^https?:\/\/\S+$/.test(value) ? url(value) : undefined,
        shown: (value) => (value === null ? 'off' : redactAddresses(value)),
        carriesKeys: true,
      },
    ),
    // The variable that every program with OpenTelemetry reads.
    variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
  },
  shutdownSeconds: setting('SHUTDOWN_SECONDS', 'Longest time that a clean stop may take.', 10, whole(1, 300)),
} as const
