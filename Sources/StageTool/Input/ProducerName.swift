import Glibc
import PipelineRuntime
import Time

/// Names for producers. For each name, the door remembers how many lines it has answered.
package enum ProducerName {
    private static let bytesMax = 200

    /// The producer's name for an input. It is the same in every run for the same file, so that a restarted program
    /// continues after the last line that the door has answered.
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

    /// A unique name for a producer that does not resume. The name begins with `~`, so the door may forget it to make
    /// room for other names.
    package static func unique() -> String {
        var host = [CChar](repeating: 0, count: 65)
        gethostname(&host, 64)
        let name = host.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return "~send \(String(decoding: name, as: UTF8.self)) \(ProducerSecret.random())"
    }
}
