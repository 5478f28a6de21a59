/** A node of the syntax tree, as far as the guard reads it. */
export interface Syntax {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly loc: { readonly start: Spot; readonly end: Spot };
  readonly [field: string]: unknown;
}

/** A place in a file; the line counts from 1, the column from 0. */
export interface Spot {
  readonly line: number;
  readonly column: number;
}

const NO_CHILDREN = new Set([
  'type',
  'start',
  'end',
  'loc',
  'range',
  'extra',
  'leadingComments',
  'trailingComments',
  'innerComments',
]);

/** TypeScript's nodes that hold code which runs; all others are types. */
const TS_CODE = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
  'TSExportAssignment',
  'TSImportEqualsDeclaration',
  'TSExternalModuleReference',
  'TSParameterProperty',
  'TSEnumDeclaration',
  'TSEnumBody',
  'TSEnumMember',
  'TSModuleDeclaration',
  'TSModuleBlock',
]);

/** Flow's nodes that hold types. */
const FLOW_TYPE =
  /^(?:Declare|Interface|Opaque|Enum)|(?:TypeAnnotation|TypeAlias|TypeParameterDeclaration|TypeParameterInstantiation)$/;

/** Whether nothing of this node is left when the program runs. */
export function isTypeOnly({ type }: Syntax): boolean {
  return type.startsWith('TS') ? !TS_CODE.has(type) : FLOW_TYPE.test(type);
}

/** One node in a field, if there is one. */
export function child(node: Syntax, field: string): Syntax | undefined {
  const value = node[field];
  return isSyntax(value) ? value : undefined;
}

/** The nodes of a field that holds a list; holes are left out. */
export function list(node: Syntax, field: string): readonly Syntax[] {
  const value = node[field];
  return Array.isArray(value) ? value.filter(isSyntax) : [];
}

/** Everything directly below a node, types left out. */
export function childrenOf(node: Syntax): Syntax[] {
  const found: Syntax[] = [];
  for (const field in node) {
    if (NO_CHILDREN.has(field)) continue;
    const value = node[field];
    if (Array.isArray(value)) for (const one of value) isSyntax(one) && found.push(one);
    else if (isSyntax(value)) found.push(value);
  }
  return found.filter((one) => !isTypeOnly(one));
}

export function isFunction({ type }: Syntax): boolean {
  return FUNCTIONS.has(type);
}

const FUNCTIONS = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ObjectMethod',
  'ClassMethod',
  'ClassPrivateMethod',
]);

/** A call, with or without `?.`. */
export function isCall({ type }: Syntax): boolean {
  return type === 'CallExpression' || type === 'OptionalCallExpression';
}

export function isMember({ type }: Syntax): boolean {
  return type === 'MemberExpression' || type === 'OptionalMemberExpression';
}

const WRAPPERS = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
  'TSTypeAssertion',
  'TSInstantiationExpression',
  'TypeCastExpression',
  'ParenthesizedExpression',
]);

/** Whether a node is its inner expression with a type, or parentheses, around it. */
export function isWrapper({ type }: Syntax): boolean {
  return WRAPPERS.has(type);
}

/** The expression without the types and parentheses around it. */
export function bare(node: Syntax): Syntax {
  let inner = node;
  while (isWrapper(inner)) inner = child(inner, 'expression') ?? inner;
  return inner;
}

/** The text of a string that is written out. */
export function literalText(node: Syntax | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (node.type === 'StringLiteral') return node.value as string;
  if (node.type !== 'TemplateLiteral' || list(node, 'expressions').length > 0) return undefined;
  const [only] = list(node, 'quasis');
  return (only?.value as { readonly cooked?: string } | undefined)?.cooked;
}

/** The name of a key or a property that is not computed, or whose text is written out. */
export function keyName(node: Syntax, field: 'key' | 'property'): string | undefined {
  const key = child(node, field);
  if (key === undefined) return undefined;
  if (node.computed !== true && key.type === 'Identifier') return key.name as string;
  return literalText(key);
}

function isSyntax(value: unknown): value is Syntax {
  return typeof value === 'object' && value !== null && typeof (value as Syntax).type === 'string';
}
