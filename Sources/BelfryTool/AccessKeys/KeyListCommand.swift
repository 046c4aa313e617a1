import Access
import ArgumentParser
import Events
import JSON

struct KeyListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the keys of the web services.",
        discussion: """
            Prints a table on a terminal; otherwise, or with --json, one JSON object for each key. For an API token, \
            the output contains only the last four characters.

              belfry key list keys.json
              belfry key list keys.json --json | jq -r 'select(.readOnly | not) | .name'
            """)

    @OptionGroup var file: AccessKeyFileArgument
    @OptionGroup var output: JSONOption

    func run() throws {
        guard let keys = try file.keyFile.read()?.keys else { throw AccessKeyError.missing(file.file) }
        try output.print(AccessKeyTable.rows(keys), json: keys.map(AccessKeyTable.json))
    }
}

/// Describes keys, as a table for people or as JSON.
enum AccessKeyTable {
    static func rows(_ keys: [AccessKey]) -> [String] {
        guard !keys.isEmpty else { return [] }
        let titles = ["NAME", "KIND", "KEY", "CONTAINER", "ENVIRONMENTS", "DATABASES", "MAY", "USER", "CREATED"]
        var table = TextTable(titles, leftColumns: Set(titles.indices))
        for key in keys { table.add(row(key)) }
        return table.lines
    }

    private static func row(_ key: AccessKey) -> [String] {
        [
            key.name, "\(key.kind.word)", key.isAPI ? "…\(key.lastCharacters)" : key.id,
            key.scope.container ?? KeyScope.everyContainer, key.scope.environments.words.joined(separator: " "),
            key.scope.databases.words.joined(separator: " "), key.scope.isReadOnly ? "read" : "read, write",
            key.user ?? "-", key.created.rfc3339,
        ]
    }

    static func json(_ key: AccessKey) -> String {
        ByteBuffer.object {
            $0.append("name", key.name)
            $0.append("kind", word: key.kind.word)
            $0.append("id", key.id)
            $0.append("lastCharacters", key.lastCharacters)
            $0.append("container", key.scope.container ?? KeyScope.everyContainer)
            $0.append("environments", key.scope.environments.words)
            $0.append("databases", key.scope.databases.words)
            $0.append("readOnly", key.scope.isReadOnly)
            $0.append(.user, key.user)
            $0.append("signInURL", key.signInURL)
            $0.append("created", key.created.rfc3339)
        }.text
    }
}

extension AccessKey {
    fileprivate var isAPI: Bool { if case .api = kind { true } else { false } }
    /// The user for whom a server acts; nil if the key is not a server's.
    fileprivate var user: String? { if case .server(_, let user) = kind { user } else { nil } }
    fileprivate var signInURL: String? { if case .api(let token) = kind { token.signInURL } else { nil } }
}
