import CloudKitModel
import Events
import JSON
import Signing
import Time

extension AccessKey {
    func write(to buffer: inout ByteBuffer) {
        buffer.object {
            $0.append("id", id)
            $0.append("name", name)
            $0.append("created", created.rfc3339)
            scope.write(to: &$0)
            kind.write(to: &$0)
        }
    }

    init(_ json: JSONValue) throws(ModelError) {
        self.init(
            id: try json.text("id"), name: try json.text("name"), created: try json.time("created"),
            scope: try KeyScope(json), kind: try Kind(json))
    }
}

extension KeyScope {
    fileprivate func write(to buffer: inout ByteBuffer) {
        buffer.append("container", container ?? KeyScope.everyContainer)
        buffer.append("environments", environments.words)
        buffer.append("databases", databases.words)
        buffer.append("readOnly", isReadOnly)
    }

    fileprivate init(_ json: JSONValue) throws(ModelError) {
        let container = try json.text("container")
        self.init(
            container: container == KeyScope.everyContainer ? nil : container,
            environments: try json.words("environments") { value throws(ModelError) in try ContainerEnvironment(value)
            },
            databases: try json.words("databases") { value throws(ModelError) in try DatabaseScope(value) },
            isReadOnly: try json.boolean("readOnly"))
    }
}

extension Set where Element: PathWord {
    /// The words of the elements, in the order in which the type declares its cases.
    package var words: [String] { Element.allCases.filter { contains($0) }.map { "\($0.word)" } }
}

extension AccessKey.Kind {
    private static let words: [StaticString] = ["api", "server", "sign-in"]

    /// The name of the kind in the key file and in the commands.
    package var word: StaticString {
        switch self {
        case .api: AccessKey.Kind.words[0]
        case .server: AccessKey.Kind.words[1]
        case .signIn: AccessKey.Kind.words[2]
        }
    }

    fileprivate func write(to buffer: inout ByteBuffer) {
        buffer.append("kind", word: word)
        switch self {
        case .api(let token):
            buffer.append("digest", token.digest.hexadecimal)
            buffer.append("lastCharacters", token.lastCharacters)
            buffer.append("signInURL", token.signInURL)
        case .server(let key, let user):
            buffer.append("publicKey", key.der.hexadecimal)
            buffer.append(.user, user)
        case .signIn(let key): buffer.append("publicKey", key.der.hexadecimal)
        }
    }

    fileprivate init(_ json: JSONValue) throws(ModelError) {
        let kind = try json.required("kind")
        let word = try under("kind") { () throws(ModelError) in
            try kind.expectWord(AccessKey.Kind.words, "a kind of key")
        }
        switch word {
        case 0: self = .api(try AccessKey.APIToken(json))
        case 1: self = .server(try json.publicKey("publicKey"), user: try json.text(.user))
        default: self = .signIn(try json.publicKey("publicKey"))
        }
    }
}

extension AccessKey.APIToken {
    fileprivate init(_ json: JSONValue) throws(ModelError) {
        digest = try json.bytes("digest", count: 32)
        lastCharacters = try json.text("lastCharacters")
        signInURL = json["signInURL"]?.string
    }
}

extension JSONValue {
    func text(_ key: StaticString) throws(ModelError) -> String {
        guard let text = try required(key).string else {
            throw ModelError("member.kind", at: "\(key)", "it is not a string")
        }
        return text
    }

    func boolean(_ key: StaticString) throws(ModelError) -> Bool {
        _ = try required(key)
        return try flag(key)
    }

    func time(_ key: StaticString) throws(ModelError) -> Instant {
        guard let time = Instant(rfc3339: try text(key)) else {
            throw ModelError("member.kind", at: "\(key)", "it is not a time, as in 2026-11-20T09:30:00Z")
        }
        return time
    }

    /// - Parameter count: The required number of bytes; nil if any number is accepted.
    func bytes(_ key: StaticString, count: Int? = nil) throws(ModelError) -> [UInt8] {
        guard let bytes = [UInt8](hexadecimal: try text(key)), count == nil || bytes.count == count else {
            let length = count.map { "\($0 * 2) digits" } ?? "two digits for each byte"
            throw ModelError("member.kind", at: "\(key)", "it is not lower-case hexadecimal with \(length)")
        }
        return bytes
    }

    fileprivate func publicKey(_ key: StaticString) throws(ModelError) -> PublicKey {
        let der = try bytes(key)
        do { return try PublicKey(der: der) } catch { throw ModelError("member.kind", at: "\(key)", "\(error)") }
    }

    func words<Word: Hashable>(
        _ key: StaticString, _ read: (JSONValue) throws(ModelError) -> Word
    ) throws(ModelError) -> Set<Word> {
        var words: Set<Word> = []
        let list = try required(key)
        guard list.isArray else { throw ModelError("member.kind", at: "\(key)", "it is not an array") }
        for element in list.elements {
            do { words.insert(try read(element)) } catch { throw error.under("\(key)") }
        }
        return words
    }
}
