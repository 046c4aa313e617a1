import CloudKitModel

/// The path of a request: `/database/1/{container}/{environment}/{database}/{action}`, or without a database
/// `/device/1/{container}/{environment}/{action}` and `/auth/1/{container}/{environment}/{action}`.
package struct WebServicesPath: Hashable, Sendable {
    package enum Service: String, CaseIterable, Sendable {
        case database
        /// Tokens of devices.
        case device
        /// Signing in.
        case auth
    }

    package let service: Service
    package let container: String
    package let environment: ContainerEnvironment
    /// Nil if the service is not ``Service/database``.
    package let database: DatabaseScope?
    /// The rest of the path, such as `records/modify`, not decoded.
    package let action: String

    private static let version = "1"

    /// - Throws: `BAD_REQUEST` for a wrong container or environment, or a wrong or missing database. `NOT_FOUND` for any
    ///   other mistake.
    package init(_ path: String) throws(AccessError) {
        // Splitting UTF-8 takes a tenth of the time of splitting characters, and every request comes here.
        let parts = path.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 6, omittingEmptySubsequences: false)
        let words = parts.dropFirst().map { Substring($0) }
        guard path.hasPrefix("/"), words.count > 3, let service = Service(rawValue: String(words[0])),
            words[1] == WebServicesPath.version
        else { throw WebServicesPath.notFound }
        self.service = service
        container = try WebServicesPath.container(words[2])
        environment = try WebServicesPath.word(words[3], Field.environment)
        database =
            service == .database ? try WebServicesPath.word(words.count > 4 ? words[4] : "", Field.database) : nil
        let actionIndex = service == .database ? 5 : 4
        action = words.count > actionIndex ? String(path[words[actionIndex].startIndex...]) : ""
        guard !action.isEmpty else { throw WebServicesPath.notFound }
    }

    // Apple's service answers with this text.
    private static let notFound = AccessError(.notFound, nil, "could not find handler for endpoint")

    private static func container(_ text: Substring) throws(AccessError) -> String {
        guard let name = PercentText.decoded(text), Container.accepts(name) else {
            throw .badRequest(
                Field.container,
                "the path's container is not valid; a container begins with \"iCloud.\", as in iCloud.com.example.App")
        }
        return name
    }

    private static func word<Word: PathWord>(_ text: Substring, _ field: String) throws(AccessError) -> Word {
        guard let word = PercentText.decoded(text).flatMap(Word.init(word:)) else {
            let words = Word.allCases.map { "\($0.word)" }.joined(separator: ", ")
            throw .badRequest(field, "the path's \(field) is not one of \(words)")
        }
        return word
    }
}

/// A word that CloudKit's paths and Belfry's key file have in common.
package protocol PathWord: CaseIterable {
    var word: StaticString { get }
}

extension PathWord {
    package init?(word text: String) {
        guard let found = Self.allCases.first(where: { $0.word.equals(text) }) else { return nil }
        self = found
    }
}

extension StaticString {
    fileprivate func equals(_ text: String) -> Bool { withUTF8Buffer { text.utf8.elementsEqual($0) } }
}

extension ContainerEnvironment: PathWord {}
extension DatabaseScope: PathWord {}

extension Container {
    static func accepts(_ name: String) -> Bool {
        NameRule.container.accepts(name) && name.hasPrefix("iCloud.") && name != "iCloud."
    }
}
