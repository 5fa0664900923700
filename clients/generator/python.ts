import { type ClientModel, type Operation, type Param, timesOf } from './read-documents.ts'
import type { Definition, Field, TypeNode } from './schema-types.ts'

/** Prints the generated part of the Python client. Annotations are never evaluated, so their order does not matter. */
export function renderPython(model: ClientModel): string {
  return [
    '# Generated from the endpoint declarations by `npm run clients`. Do not edit.',
    'from __future__ import annotations',
    '',
    'from datetime import datetime',
    'from typing import TYPE_CHECKING, Any, Dict, List, Literal, Mapping, Optional, Sequence, Type, TypedDict, Union',
    '',
    'from ._errors import ApiError',
    'from ._operation import Operation',
    '',
    'if TYPE_CHECKING:',
    '    from typing_extensions import NotRequired',
    '',
    '    from ._async_rows import AsyncRows',
    '    from ._rows import Rows',
    '',
    `CONTRACT_VERSION = ${quoted(model.version)}`,
    '',
    '# ISO 8601 text, a date alone (midnight UTC), epoch seconds or milliseconds, or a datetime.',
    'Time = Union[str, int, float, datetime]',
    '',
    ...model.definitions.map(definition),
    ...model.errorCodes.map(
      ({ code, className }) =>
        `\nclass ${className}(ApiError):\n    """Refused with the code \`\`${code}\`\`."""\n\n    code = ${quoted(code)}\n`,
    ),
    '',
    'ERROR_CLASSES: Dict[str, Type[ApiError]] = {',
    ...model.errorCodes.map(({ code, className }) => `    ${quoted(code)}: ${className},`),
    '}',
    '',
    'OPERATIONS: Dict[str, Operation] = {',
    ...model.operations.map(
      (operation) => `    ${quoted(nameOf(operation))}: ${wire(operation, model.definitions)},`,
    ),
    '}',
    '',
    ...apiClass(model, false),
    ...apiClass(model, true),
    '',
  ].join('\n')
}

/** Every definition is a TypedDict; a field that is a word of Python needs the form with a dictionary. */
function definition({ name, doc, shape }: Definition): string {
  if ('alias' in shape) return `${note(doc)}${name} = ${aliasText(shape.alias)}\n`
  const text = (field: Field) =>
    field.required ? typeText(field.type) : `NotRequired[${typeText(field.type)}]`
  if (shape.fields.some((field) => !isName(field.name))) {
    const fields = shape.fields.map((field) => `        ${quoted(field.name)}: ${quoted(text(field))},`)
    return `${note(doc)}${name} = TypedDict(\n    ${quoted(name)},\n    {\n${fields.join('\n')}\n    },\n)\n`
  }
  const fields = shape.fields.map((field) => `${note(field.doc, '    ')}    ${field.name}: ${text(field)}`)
  const intro = doc === '' ? '' : `    ${docstring(doc)}\n\n`
  return `\nclass ${name}(TypedDict):\n${intro}${fields.join('\n')}\n`
}

function wire(operation: Operation, definitions: readonly Definition[]): string {
  const { method, path, result } = operation
  const given = timesOf(operation)
  const givenTimes =
    given.length === 0 ? [] : [`given_times=(${given.map((name) => `${quoted(name)}, `).join('')})`]
  if (result.kind === 'object')
    return `Operation(${[quoted(method), quoted(path), ...givenTimes].join(', ')})`
  const fields = fieldsOf(result.row, definitions)
  const tuple = (kind: Column) => {
    const names = fields.filter(({ type }) => columnOf(type) === kind).map(({ name }) => name)
    return `(${[...new Set(names)].map((name) => `${quoted(name)}, `).join('')})`
  }
  return `Operation(${[
    quoted(method),
    quoted(path),
    `rows_field=${quoted(result.rowsField)}`,
    `cursor_param=${result.cursorParam === undefined ? 'None' : quoted(result.cursorParam)}`,
    `has_limit=${result.hasLimit ? 'True' : 'False'}`,
    `times=${tuple('time')}`,
    `floats=${tuple('float')}`,
    `integers=${tuple('integer')}`,
    ...givenTimes,
  ].join(', ')})`
}

type Column = 'time' | 'float' | 'integer' | undefined

/** Of a union, those of all its members. */
function fieldsOf(type: TypeNode, definitions: readonly Definition[]): readonly Field[] {
  if (type.kind === 'union') return type.members.flatMap((member) => fieldsOf(member, definitions))
  const found = type.kind === 'ref' ? definitions.find(({ name }) => name === type.name) : undefined
  if (found === undefined) return []
  return 'alias' in found.shape ? fieldsOf(found.shape.alias, definitions) : found.shape.fields
}

/** What a column of a data frame holds. */
function columnOf(type: TypeNode): Column {
  if (type.kind === 'union') {
    const kinds = new Set(type.members.filter(({ kind }) => kind !== 'null').map(columnOf))
    return kinds.size === 1 ? [...kinds][0] : undefined
  }
  if (type.kind === 'number') return 'float'
  if (type.kind === 'integer') return 'integer'
  return type.kind === 'string' && type.isTime ? 'time' : undefined
}

function apiClass(model: ClientModel, isAsync: boolean): string[] {
  const rows = isAsync ? 'AsyncRows' : 'Rows'
  return [
    '',
    `class ${isAsync ? 'AsyncMethods' : 'Methods'}:`,
    `    """A method for every endpoint${isAsync ? ', to be awaited' : ''}."""`,
    '',
    `    def _rows(self, operation: Operation, params: Mapping[str, Any]) -> ${rows}[Any, Any]:`,
    '        raise NotImplementedError',
    '',
    `    ${isAsync ? 'async ' : ''}def _answer(self, operation: Operation, params: Mapping[str, Any], body: Any = None) -> Any:`,
    '        raise NotImplementedError',
    ...model.operations.map((operation) => method(operation, isAsync)),
  ]
}

interface Argument {
  readonly name: string
  readonly wireName: string
  readonly text: string
  readonly required: boolean
  readonly isPositional: boolean
  readonly doc: string
}

function method(operation: Operation, isAsync: boolean): string {
  const { params, body, result, doc } = operation
  const fields =
    body?.definition !== undefined && 'fields' in body.definition.shape
      ? body.definition.shape.fields
      : undefined
  const own = params.map(argument)
  const inBody = (fields ?? []).map((field): Argument => argument({ ...field, in: 'query' }))
  const whole: Argument[] =
    body !== undefined && fields === undefined
      ? [
          {
            name: 'body',
            wireName: 'body',
            text: typeText(body.type),
            required: true,
            isPositional: true,
            doc: '',
          },
        ]
      : []
  const all = [...own, ...whole, ...inBody]
  const positional = all.filter(({ isPositional }) => isPositional)
  const named = all
    .filter(({ isPositional }) => !isPositional)
    .sort((a, b) => Number(b.required) - Number(a.required))
  const args = [
    'self',
    ...positional.map(parameter),
    ...(named.length > 0 ? ['*', ...named.map(parameter)] : []),
  ]
  const dict = (items: readonly Argument[]) =>
    `{${items.map(({ name, wireName }) => `${quoted(wireName)}: ${name}`).join(', ')}}`
  const passed = [
    `OPERATIONS[${quoted(nameOf(operation))}]`,
    dict(own),
    ...(body === undefined ? [] : [fields === undefined ? 'body' : dict(inBody)]),
  ].join(', ')
  const isRows = result.kind === 'rows'
  const returned = isRows
    ? `${isAsync ? 'AsyncRows' : 'Rows'}[${typeText(result.row)}, ${typeText(result.meta)}]`
    : typeText(result.type)
  const call = isRows ? `self._rows(${passed})` : `${isAsync ? 'await ' : ''}self._answer(${passed})`
  return `\n    ${isAsync && !isRows ? 'async ' : ''}def ${nameOf(operation)}(${args.join(', ')}) -> ${returned}:\n        ${docstring(doc, isAsync ? [] : [...positional, ...named])}\n        return ${call}`
}

/** What names one thing (a path, a symbol) can be given without its name. */
function argument(param: Param): Argument {
  return {
    name: isName(param.name) ? param.name : `${param.name}_`,
    wireName: param.name,
    text: typeText(param.type),
    required: param.required,
    isPositional: param.in === 'path' || (param.name === 'symbol' && param.required),
    doc: param.doc,
  }
}

function parameter({ name, text, required }: Argument): string {
  return required ? `${name}: ${text}` : `${name}: Optional[${text}] = None`
}

const WORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
)
const isName = (name: string) => /^[A-Za-z_]\w*$/.test(name) && !WORDS.has(name)
const nameOf = ({ words }: Operation) => words.join('_')
const quoted = (text: string) => JSON.stringify(text)

function note(text: string, indent = ''): string {
  const line = text.split('\n')[0] ?? ''
  return line === '' ? '' : `${indent}# ${line}\n`
}

/** The arguments are explained once, in the methods of `Client`: those of `AsyncClient` are the same. */
function docstring(text: string, args: readonly Argument[] = []): string {
  const line = inString(text)
  const lines = args.flatMap(({ name, doc }) => (doc === '' ? [] : [`        ${name}: ${inString(doc)}`]))
  if (lines.length > 0) return `"""\n        ${line}\n\n${lines.join('\n')}\n        """`
  return `"""${line.endsWith('"') ? `${line} ` : line}"""`
}

const inString = (text: string) =>
  (text.split('\n')[0] ?? '').replaceAll('\\', '\\\\').replaceAll('"""', "'''")

function typeText(type: TypeNode): string {
  switch (type.kind) {
    case 'ref':
      return type.name
    case 'time':
      return 'Time'
    case 'string':
      return 'str'
    case 'number':
      return 'float'
    case 'integer':
      return 'int'
    case 'boolean':
      return 'bool'
    case 'null':
      return 'None'
    case 'unknown':
      return 'Any'
    case 'literal':
      return `Literal[${type.values.map((value) => (typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value))).join(', ')}]`
    case 'list':
      return `List[${typeText(type.item)}]`
    case 'record':
      return `Dict[str, ${typeText(type.value)}]`
    case 'both':
      return typeText(type.members[0] ?? { kind: 'unknown' })
    case 'union': {
      const others = type.members.filter(({ kind }) => kind !== 'null')
      const text =
        others.length === 1 && others[0] ? typeText(others[0]) : `Union[${others.map(typeText).join(', ')}]`
      return others.length < type.members.length ? `Optional[${text}]` : text
    }
  }
}

/** An alias is evaluated, so names in it stay texts. */
function aliasText(type: TypeNode): string {
  if (type.kind === 'union') return `Union[${type.members.map(aliasText).join(', ')}]`
  if (type.kind === 'list') return `List[${aliasText(type.item)}]`
  return type.kind === 'ref' ? quoted(type.name) : typeText(type)
}
