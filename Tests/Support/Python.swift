import Glibc

/// The example programs in Python, and whether this machine can run them.
package enum Python {
    package static let program = "/usr/bin/python3"

    /// Why a test that needs pyzmq is skipped.
    package static let missing = "Debian's python3-zmq is missing: apt-get install python3-zmq"

    package static let hasZeroMQ = access("/usr/lib/python3/dist-packages/zmq/__init__.py", R_OK) == 0

    /// The example stage `quiet_types.py` as an entry of a pipeline file. It drops matches of the record type Draft.
    package static let filter = """
          filter:
            from: match
            command: [\(program), \(folder)/quiet_types.py, Draft]
        """

    /// The folder of the example plugins.
    package static let folder = package + "/Pipelines/plugins"

    /// The folder of the example clients, such as `producer.py`.
    public static let clients = package + "/Pipelines/clients"

    private static var package: String {
        var path = Substring(#filePath)
        for _ in 0..<3 { path = path.prefix(upTo: path.lastIndex(of: "/") ?? path.startIndex) }
        return String(path)
    }
}
