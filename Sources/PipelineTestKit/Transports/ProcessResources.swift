import Foundation

/// How many threads and open files this process had when the value was made.
struct ProcessResources {
    private let threads = ProcessResources.count("task")
    private let files = ProcessResources.count("fd")

    /// A text such as `3 more threads` if this value exceeds `other`, in threads or in files, by more than the
    /// allowance; nil if it does not.
    func excess(over other: ProcessResources, allowing allowance: Int) -> String? {
        if threads > other.threads + allowance { return "\(threads - other.threads) more threads" }
        if files > other.files + allowance { return "\(files - other.files) more open files" }
        return nil
    }

    // Uses Linux's proc(5). On other systems the count is 0.
    private static func count(_ folder: String) -> Int {
        do { return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)").count } catch {
            return 0
        }
    }
}
