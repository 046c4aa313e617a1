import Glibc

/// The example plugin in Python, where this machine can run it.
public enum Python {
    public static let program = "/usr/bin/python3"

    /// Why a test that needs it is skipped.
    public static let missing = "\(program) has no module zmq; `apt-get install python3-zmq` brings it"

    public static let hasZeroMQ: Bool = {
        var child: Int32 = 0
        let arguments: [String] = [program, "-c", "import zmq"]
        let words = arguments.map { strdup($0) }
        defer { for word in words { free(word) } }
        guard posix_spawn(&child, program, nil, nil, words + [nil], environ) == 0 else { return false }
        var status: Int32 = 0
        return waitpid(child, &status, 0) == child && status == 0
    }()

    /// The stage as a pipeline file has it.
    public static let filter = """
          filter:
            from: match
            command: [\(program), \(folder)/quiet_types.py, Draft]
        """

    /// Where the examples' plugins are in this package.
    public static let folder = package + "/Pipelines/plugins"

    private static var package: String {
        var path = Substring(#filePath)
        for _ in 0..<3 { path = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex) }
        return String(path)
    }
}
