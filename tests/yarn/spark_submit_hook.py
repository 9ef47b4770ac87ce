"""One job by Airflow's SparkSubmitHook, unmodified: spark_submit_hook.py MASTER FILE CLASS CONF ARGS… (CONF is JSON). It prints `ok` with the ids that the hook found,
or `failed` with its message. The program spark-submit is the one on the PATH."""

import json
import os
import sys


def main() -> None:
    master, file, class_name, conf, *arguments = sys.argv[1:]
    os.environ["AIRFLOW_CONN_SPARK_DEFAULT"] = json.dumps({"conn_type": "spark", "host": master, "extra": {"deploy-mode": "cluster"}})
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    hook = SparkSubmitHook(
        conf=json.loads(conf), java_class=class_name, name="by airflow", application_args=arguments, driver_memory="512m", executor_memory="512m", num_executors=1, verbose=True,
    )
    try:
        hook.submit(file)
    except Exception as error:
        print(f"failed {error}".replace("\n", " "), flush=True)
        return
    print(f"ok {hook._yarn_application_id or hook._kubernetes_driver_pod}", flush=True)


if __name__ == "__main__":
    main()
