import Glibc
import PipelineRuntime
import Time

/// Names that producers give themselves at the door, which keeps for each how far it has come.
package enum ProducerName {
    private static let bytesMax = 200

    /// A file's name is the same in every run, so that a restart resumes. Standard input holds something new each time.
    package static func of(_ source: InputSource) -> String {
        source.isStandardInput ? "standard input" : file(absolute(source.path))
    }

    private static func file(_ path: String) -> String {
        let name = "file \(path)"
        guard name.utf8.count > bytesMax else { return name }
        return "file \(LogIdentity(seed: path, name: "producer")) \(path.split(separator: "/").last?.suffix(32) ?? "")"
    }

    private static func absolute(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// For a producer that does not resume: nobody else has it, and as `~` says, the door forgets it before others.
    package static var passing: String {
        var host = [CChar](repeating: 0, count: 65)
        gethostname(&host, 64)
        let name = host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return "~send \(String(decoding: name, as: UTF8.self)) \(ProducerSecret.drawn())"
    }
}
